package io.waybill.api;

import io.waybill.api.handler.MessageHandler;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A request as its handler sees it.
 *
 * <p><b>Lifetime.</b> Dead when {@link MessageHandler#handle} returns: keep copies, not references. A tensor's storage lives on when
 * it was retained.
 *
 * <p><b>Errors.</b> The getters of fields throw {@link RejectedMessageException} with {@link ErrorCode#MALFORMED_BODY} when the field
 * is missing or of another kind, so that a handler need not check.
 */
@ProviderType
public interface Message {

    MessageType type();

    /** See {@link MessageId}. */
    long id();

    /** The worker id of the sender. */
    int from();

    /** The id of the request whose handler sent this one; {@link MessageId#NONE} when none did. */
    long parentId();

    /** Time left until the caller gives up; {@link Long#MAX_VALUE} when it never does. */
    long remainingNs();

    /** Whether the worker may have begun this request before it was restarted. */
    boolean isRedelivery();

    /** The operation of a call by name; the type's name otherwise. */
    String operation() throws RejectedMessageException;

    /** The payload as it travelled, read-only. */
    ByteBuffer payload();

    /** The tensors that travelled with it, read-only. */
    List<Tensor> tensors();

    /** The whole payload of a call by name. */
    Invocation invocation() throws RejectedMessageException;

    /** The named field. */
    Value value(String name) throws RejectedMessageException;

    String text(String name) throws RejectedMessageException;

    long int64(String name) throws RejectedMessageException;

    /** An int counts as a float. */
    double float64(String name) throws RejectedMessageException;

    boolean bool(String name) throws RejectedMessageException;

    byte[] bytes(String name) throws RejectedMessageException;

    Tensor tensor(String name) throws RejectedMessageException;
}
