package io.waybill.api.event;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import org.osgi.annotation.versioning.ProviderType;

/**
 * What happened to a call. Events of both sides have the same message id.
 *
 * <p><b>Lifetime.</b> Valid until {@link CallEvents#onEvent} returns; afterwards its methods throw {@link IllegalStateException}, or describe
 * another event. <b>Threads.</b> That of the method.
 *
 * <p><b>Order.</b> Events of one call may be delivered by several threads; {@link #timeNs()} orders them.
 */
@ProviderType
public interface CallEvent {

    /** What happened. */
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
        /** The call has its outcome, of which the program was notified. */
        ENDED
    }

    Kind kind();

    /** Returns the id of the request; see {@link MessageId}. */
    long id();

    /** Returns the id of the request whose handler made the call; {@link MessageId#NONE} when no handler did, and for {@link Kind#ENDED}. */
    long parentId();

    /** Returns the id of the worker on the other side. */
    int peer();

    /** Returns the type of the request; of {@link Kind#ENDED} the type of the response, and of a failure {@link MessageType#EXCEPTION}. */
    MessageType type();

    /**
     * Returns the name of the operation, function or operator; the type's name for all other messages, and for {@link Kind#ENDED}. Names
     * are cached, so that this does not allocate for a name that was used recently.
     */
    String operation();

    /** Returns the length of the record that was written or read, without tensors in segments; 0 for {@link Kind#ENDED} without a response. */
    int bytes();

    /** Returns the number of tensors. */
    int tensors();

    /**
     * Returns how many messages the message is inside of: 0 for a request, more for one that was dispatched from inside another. Such a
     * message has the id of its request, and the events {@link Kind#BEGUN} and {@link Kind#RESPONDED} alone; the latter when its outcome is
     * about to be passed to the handler that dispatched it, with 0 bytes.
     */
    int depth();

    /** Returns the error of {@link Kind#RESPONDED} and {@link Kind#ENDED}; null when there is none. */
    ErrorCode error();

    /**
     * Returns the first 8 bytes of the id of the trace that the call belongs to; 0 when it belongs to none, for {@link Kind#ENDED}, and inside of
     * another message. A call with a trace has a {@link #spanId()} that is not 0.
     */
    long traceIdHigh();

    /** Returns the last 8 bytes of the id of the trace. */
    long traceIdLow();

    /** Returns the id of the span that the call is, as it is on record; 0 when it belongs to no trace. */
    long spanId();

    /** Returns the id of the span that the call was made from; 0 when it belongs to no trace. */
    long callerSpanId();

    /** Returns whether the call belongs to a trace that is recorded. */
    boolean isSampled();

    /**
     * Returns when it happened, on a clock that goes on while the host is suspended and has the same reading in every process of the host.
     * Of {@link Kind#APPENDED} and {@link Kind#RESPONDED} the time before the write; of others possibly the time of the first call of this
     * method, which reads the clock.
     */
    long timeNs();

    /** Returns {@link #timeNs()} by the wall clock, in nanoseconds since 1970: that of {@link Kind#APPENDED} and {@link Kind#RESPONDED} is on record. */
    long wallNs();
}
