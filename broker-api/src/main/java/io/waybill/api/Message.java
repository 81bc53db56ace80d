package io.waybill.api;

import io.waybill.api.handler.MessageHandler;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A request as seen by its handler.
 *
 * <p><b>Lifetime.</b> Invalid after {@link MessageHandler#handle} returns; copy what you need later. The storage of a
 * tensor stays valid if the handler retained it.
 *
 * <p><b>Errors.</b> The getters of fields throw {@link RejectedMessageException} with {@link ErrorCode#MALFORMED_BODY}
 * when the field is missing or of another kind, so a handler need not check. The first getter checks the whole payload
 * and throws on a fault anywhere in it. A getter reads its field from the payload and allocates nothing but its result.
 */
@ProviderType
public interface Message {

    MessageType type();

    /** Returns the id of the request; see {@link MessageId}. */
    long id();

    /** Returns the worker id of the sender. */
    int from();

    /**
     * Returns the worker that sent the request: the id of {@link #from()} and the worker's name. In a replay it is the
     * worker whose journal has the request. Each call returns a new object.
     *
     * @throws IllegalStateException after the handler returned
     */
    WorkerInfo caller();

    /** Returns the id of the request whose handler sent this one; {@link MessageId#NONE} if no handler sent it. */
    long parentId();

    /** Returns the time until the caller's deadline; {@link Long#MAX_VALUE} if it has none. */
    long remainingNs();

    /** Returns whether the worker may have begun this request before it was restarted. */
    boolean isRedelivery();

    /** Returns the operation of a call by name; the type's name for all other messages. */
    String operation() throws RejectedMessageException;

    /**
     * Returns the payload as it was sent, read-only, from position 0, big-endian. May be the same buffer on each call,
     * with its position, limit and order reset.
     */
    ByteBuffer payload();

    /** Returns the tensors of the message, read-only. */
    List<Tensor> tensors();

    /**
     * Returns the remote references of the message, in the order of their indices in the payload. The handler must not
     * close them; {@link RRef#retain} returns a handle that outlives the message.
     */
    List<? extends RRef> references();

    /** Returns the whole payload of a call by name. */
    Invocation invocation() throws RejectedMessageException;

    /** Returns the named field. */
    Value value(String name) throws RejectedMessageException;

    String text(String name) throws RejectedMessageException;

    long int64(String name) throws RejectedMessageException;

    /** Returns the named field as a float; an int is converted. */
    double float64(String name) throws RejectedMessageException;

    boolean bool(String name) throws RejectedMessageException;

    /** Returns a copy of the bytes of the named field. */
    byte[] bytes(String name) throws RejectedMessageException;

    Tensor tensor(String name) throws RejectedMessageException;

    /**
     * Returns the named fields as a record, by {@link RecordCodec}. Its tensors and references are those of the message.
     *
     * @throws RejectedMessageException with {@link ErrorCode#MALFORMED_BODY} if a field is missing or of another kind, or
     *     the record refuses them
     */
    default <T extends Record> T record(Class<T> type) throws RejectedMessageException {
        Value.DictBuilder fields = Value.dict();
        invocation().named().forEach(fields::put);
        try {
            return RecordCodec.decode(fields.build(), type);
        } catch (IllegalArgumentException e) {
            throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, e.getMessage(), e);
        }
    }
}
