package io.waybill.api.intercept;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.context.CallContext;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A call from the view of one of its interceptors, from the request to the outcome.
 *
 * <p><b>Lifetime.</b> Valid until the method that received it returns; the object is reused. <b>Threads.</b> The thread
 * that called the method.
 */
@ProviderType
public interface InterceptedCall {

    /**
     * Returns the receiver as the program wrote it, or the last one to which an interceptor {@linkplain
     * OutgoingCall#redirect redirected} the call: a name, an address or an id in decimal.
     */
    String to();

    /** Returns the type that the program gave the request, before any interceptor wrapped it. */
    MessageType calledType();

    /** Returns the id of the request whose handler makes the call; {@link MessageId#NONE} if no handler does. */
    long parentId();

    /**
     * Returns the context that the call carries: the program's, with the changes of the interceptors before this one.
     * It is current in every method of an interceptor except {@link CallInterceptor#onRequest}, where the program's own
     * context is current.
     */
    CallContext context();

    /** Returns the object that this interceptor attached to the call; null if it attached none. */
    Object attachment();
}
