package io.waybill.api.intercept;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Request with its outcome, before the outcome is written.
 *
 * <p><b>Lifetime.</b> Invalid after {@link HandlerInterceptor#after} returns. <b>Threads.</b> The thread that called
 * the method.
 */
@ProviderType
public interface HandledMessage {

    /** Returns the type of the request. */
    MessageType type();

    /** Returns the id of the request. */
    long id();

    /** Returns the worker id of the sender of the request. */
    int from();

    /**
     * Returns name and version of the bundle whose handler the request was for, such as {@code org.acme.orders 1.2.0};
     * for a handler of a program the name under which it is registered.
     */
    String responder();

    /** Returns the object that this interceptor attached to the request; null if it attached none. */
    Object attachment();

    /** Returns the error code of the outcome; empty if the handler responded. */
    Optional<ErrorCode> error();

    /** Returns the text of the error; empty if the handler responded. */
    String errorText();

    /** Returns the payload of the response, read-only; empty if the outcome is an error. */
    ByteBuffer payload();

    /** Returns the tensors of the response, read-only; none if the outcome is an error. */
    List<Tensor> tensors();
}
