package io.waybill.api.event;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import org.osgi.annotation.versioning.ProviderType;

/**
 * One event of a call, such as its append or its response. The events of both sides have the same message id.
 *
 * <p><b>Lifetime.</b> Valid until {@link CallEvents#onEvent} returns; afterwards its methods throw
 * {@link IllegalStateException}, or describe another event. <b>Threads.</b> The thread that called the method.
 *
 * <p><b>Order.</b> Events of one call may be delivered by several threads; {@link #timeNs()} orders them.
 */
@ProviderType
public interface CallEvent {

    /** Step of a call that an event reports. */
    enum Kind {
        /** The caller has written the request to its journal. */
        APPENDED,
        /** The callee has read the request. */
        READ,
        /** The request waited for a handler, a policy or a thread. Delivered with {@link #BEGUN}. */
        PARKED,
        /** The request was passed to the threads of its handler. Delivered with {@link #BEGUN}. */
        QUEUED,
        /** The handler is about to be called. */
        BEGUN,
        /** Tensors were converted for a device: of the request by the callee, or of the response by the caller. */
        CONVERTED,
        /** The callee has written the response to its journal. */
        RESPONDED,
        /** The call has its outcome, and the program was notified of it. */
        ENDED
    }

    Kind kind();

    /** Returns the id of the request; see {@link MessageId}. */
    long id();

    /**
     * Returns the id of the request whose handler made the call; {@link MessageId#NONE} if no handler did, and for
     * {@link Kind#ENDED}.
     */
    long parentId();

    /** Returns the id of the worker on the other side. */
    int peer();

    /**
     * Returns the type of the request; for {@link Kind#ENDED} the type of the response, or
     * {@link MessageType#EXCEPTION} for a failure.
     */
    MessageType type();

    /**
     * Returns the name of the operation, function or operator; the type's name for all other messages, and for
     * {@link Kind#ENDED}. Names are cached, so a recently used name is not allocated again.
     */
    String operation();

    /**
     * Returns the length of the record that was written or read, without tensors in segments; 0 for {@link Kind#ENDED}
     * without a response.
     */
    int bytes();

    /** Returns the number of tensors. */
    int tensors();

    /**
     * Returns the number of messages around this message: 0 for a request, more for a message that was dispatched from
     * inside another one. An inner message has the id of its request, and only the events {@link Kind#BEGUN} and
     * {@link Kind#RESPONDED}; the latter has 0 bytes and is delivered before the outcome is passed to the handler that
     * dispatched the message.
     */
    int depth();

    /**
     * Returns name and version of the bundle whose handler got the request, such as {@code org.acme.orders 1.2.0}, for
     * {@link Kind#BEGUN} and {@link Kind#RESPONDED}; for a handler of a program the name under which it is registered.
     * Empty if no handler got the request, and for other kinds.
     */
    String responder();

    /** Returns the error of {@link Kind#RESPONDED} and {@link Kind#ENDED}; null if there is none. */
    ErrorCode error();

    /**
     * Returns the first 8 bytes of the id of the trace that the call belongs to; 0 if it belongs to none, for
     * {@link Kind#ENDED}, and for an inner message. A call with a trace has a nonzero {@link #spanId()}.
     */
    long traceIdHigh();

    /** Returns the last 8 bytes of the id of the trace. */
    long traceIdLow();

    /** Returns the id of the call's span, as recorded; 0 if the call belongs to no trace. */
    long spanId();

    /** Returns the id of the span from which the call was made; 0 if the call belongs to no trace. */
    long callerSpanId();

    /** Returns whether the call belongs to a trace that is recorded. */
    boolean isSampled();

    /**
     * Returns the time of the event, on a clock that continues while the host is suspended and has the same reading in
     * every process of the host. For {@link Kind#APPENDED} and {@link Kind#RESPONDED} this is the time before the
     * write; for other kinds possibly the time of the first call of this method, which reads the clock.
     */
    long timeNs();

    /**
     * Returns {@link #timeNs()} as wall-clock time, in nanoseconds since 1970: for {@link Kind#APPENDED} and
     * {@link Kind#RESPONDED} the recorded time.
     */
    long wallNs();
}
