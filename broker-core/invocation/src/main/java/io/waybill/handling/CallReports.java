package io.waybill.handling;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.TraceContext;
import io.waybill.api.event.CallEvent.Kind;
import io.waybill.dispatch.ServedBy;
import io.waybill.event.CallListeners;
import io.waybill.event.EventView;
import io.waybill.host.Clock;
import io.waybill.wire.Envelope;
import io.waybill.wire.RecordView;
import java.nio.ByteOrder;
import org.agrona.DirectBuffer;

/**
 * Reports events of the calls of a worker to listeners. Its methods are called only while there are listeners.
 *
 * <p><b>Threads.</b> Any, but none that holds a lock or the poll permit outside of a foreign section: the listeners are
 * called here.
 */
public final class CallReports {

    private static final int NAMED_CALL = MessageType.NAMED_CALL.code();
    private static final int SCRIPT_CALL = MessageType.SCRIPT_CALL.code();
    private static final int SCRIPT_REMOTE_CALL = MessageType.SCRIPT_REMOTE_CALL.code();
    /** Offset of a name in a payload, behind its length. */
    public static final int NAME_AT = 2;

    private final CallListeners listeners;
    private final Clock clock;

    public CallReports(CallListeners listeners, Clock clock) {
        this.listeners = listeners;
        this.clock = clock;
    }

    /** Returns whether there is no listener. One volatile read. */
    public boolean isEmpty() {
        return listeners.isEmpty();
    }

    /** Returns whether a listener wants events of a kind. One volatile read. */
    public boolean wants(Kind kind) {
        return listeners.wants(kind);
    }

    /** Returns whether a listener wants events from before a handler begins. */
    public boolean wantsBeforeHandlers() {
        return wants(Kind.BEGUN)
                || wants(Kind.READ)
                || wants(Kind.QUEUED)
                || wants(Kind.PARKED)
                || wants(Kind.CONVERTED);
    }

    /** Creates an event that its owner keeps. */
    public EventView newEvent() {
        return listeners.newEvent();
    }

    /** Returns the current time on the clock of events. */
    public long nowNs() {
        return clock.bootNs();
    }

    // ---- the caller's side

    /**
     * Reports a request that was written.
     *
     * @param context context that is recorded with it
     * @param span span of the call; 0 without a trace
     */
    public void appended(
            Request request, long id, long parent, int to, int bytes, long bootNs, CallContext context, long span) {
        EventView event = listeners.wants(Kind.APPENDED) ? listeners.own() : null;
        if (event == null) {
            return;
        }
        event.open(Kind.APPENDED, id, to, request.type())
                .parent(parent)
                .size(bytes, request.tensors().size())
                .at(bootNs);
        if (span != 0) {
            TraceContext trace = context.trace().orElseThrow();
            event.trace(trace.traceIdHigh(), trace.traceIdLow(), span, trace.spanId(), trace.isSampled());
        }
        byte[] payload = request.payloadArray();
        int length = request.payloadLength();
        if (length > NAME_AT) {
            int firstTwo = Byte.toUnsignedInt(payload[0]) | Byte.toUnsignedInt(payload[1]) << Byte.SIZE;
            event.name(payload, NAME_AT, nameLength(request.type().code(), firstTwo, length));
        }
        listeners.notify(event);
    }

    /**
     * Reports the outcome of a call, after its listener was notified.
     *
     * @param error null for none
     */
    public void ended(long id, int peer, MessageType type, ErrorCode error, int bytes, int tensors) {
        EventView event = listeners.own();
        if (event != null) {
            listeners.notify(event.open(Kind.ENDED, id, peer, type).error(error).size(bytes, tensors));
        }
    }

    /** Reports that the tensors of a response were converted. */
    public void converted(RecordView response) {
        EventView event = listeners.own();
        if (event != null) {
            listeners.notify(opened(event, Kind.CONVERTED, response));
        }
    }

    // ---- the callee's side

    /**
     * Reports a request whose handler is about to be called.
     *
     * @param event with the name of the handler's provider
     * @param parkedSinceNs on the monotonic clock; 0 if it was not parked
     * @param queuedNs on the clock of events; 0 if it was not queued
     * @param isConverted whether its tensors were converted for a device
     */
    public void begun(EventView event, RecordView request, long parkedSinceNs, long queuedNs, boolean isConverted) {
        long parkedNs = parkedSinceNs == 0 ? 0 : clock.bootNs() - (clock.monotonicNs() - parkedSinceNs);
        opened(event, Kind.READ, request).at(parkedNs == 0 ? queuedNs : parkedNs);
        if (listeners.wants(Kind.READ)) {
            listeners.notify(event);
        }
        if (parkedNs != 0) {
            listeners.notify(event.again(Kind.PARKED, parkedNs));
        }
        if (queuedNs != 0) {
            listeners.notify(event.again(Kind.QUEUED, queuedNs));
        }
        if (isConverted) {
            listeners.notify(event.again(Kind.CONVERTED, 0));
        }
        if (listeners.wants(Kind.BEGUN)) {
            listeners.notify(event.again(Kind.BEGUN, 0));
        }
    }

    /**
     * Reports a response that was written.
     *
     * @param event prepared for {@link #prepared}; null to let another thread report it
     * @param by name of the handler's provider; empty if no handler got the request
     * @param error null for none
     */
    public void responded(
            EventView event,
            RecordView request,
            int to,
            String by,
            ErrorCode error,
            int bytes,
            int tensors,
            long wallNs) {
        EventView filled = event == null ? listeners.own() : event;
        if (filled == null) {
            return;
        }
        opened(filled, Kind.RESPONDED, request)
                .peer(to)
                .servedBy(by)
                .error(error)
                .size(bytes, tensors)
                .at(wallNs - clock.wallNsAt(0))
                .resolved();
        if (event == null) {
            listeners.notifyElsewhere(filled);
        }
    }

    /** Reports an event that was prepared. */
    public void prepared(EventView event) {
        listeners.notify(event);
    }

    // ---- messages inside others

    /** Reports a message inside another one whose handler is about to be called. */
    public void begunInside(RecordView inner, int depth, ServedBy by, int tensors) {
        EventView event = listeners.own();
        if (event != null) {
            int bytes = inner.buffer().length();
            opened(event.servedBy(by.text()), Kind.BEGUN, inner).inside(depth).size(bytes, tensors);
            listeners.notify(event);
        }
    }

    /**
     * Reports the outcome of a message inside another one.
     *
     * @param by provider of its handler; that of no handler if none got it
     * @param error null for none
     * @param here whether the calling thread may call the listeners; otherwise another one does
     */
    public void respondedInside(RecordView inner, int depth, ServedBy by, ErrorCode error, boolean here) {
        EventView event = listeners.own();
        if (event == null) {
            return;
        }
        opened(event.servedBy(by.text()), Kind.RESPONDED, inner)
                .inside(depth)
                .size(0, 0)
                .error(error);
        if (here) {
            listeners.notify(event);
        } else {
            listeners.notifyElsewhere(event);
        }
    }

    private static EventView opened(EventView event, Kind kind, RecordView record) {
        int code = record.typeCode();
        int payloadLength = record.payloadLength();
        event.open(kind, record.id(), record.from(), code)
                .parent(record.parent())
                .size(record.buffer().length(), record.tensorCount());
        if (hasName(code) && payloadLength > NAME_AT) {
            DirectBuffer memory = record.buffer().memory();
            int firstTwo = Short.toUnsignedInt(memory.getShort(Envelope.HEADER_LENGTH, ByteOrder.LITTLE_ENDIAN));
            event.name(memory, Envelope.HEADER_LENGTH + NAME_AT, nameLength(code, firstTwo, payloadLength));
        }
        return record.hasContext() ? traced(event, record) : event;
    }

    private static EventView traced(EventView event, RecordView record) {
        long span = record.span();
        return span == 0
                ? event
                : event.trace(record.traceHigh(), record.traceLow(), span, record.callerSpan(), record.isSampled());
    }

    private static boolean hasName(int code) {
        return code == NAMED_CALL || code == Route.CONTROL_CALL || code == SCRIPT_CALL || code == SCRIPT_REMOTE_CALL;
    }

    /**
     * Returns the length of the name at the start of a payload; 0 when the type has none, or the payload does not
     * contain it.
     */
    public static int nameLength(int code, int firstTwoBytes, int payloadLength) {
        if (!hasName(code)) {
            return 0;
        }
        boolean isFunction = code == SCRIPT_CALL || code == SCRIPT_REMOTE_CALL;
        int length = isFunction ? Invocation.nameLength(firstTwoBytes) : firstTwoBytes;
        return length > Invocation.MAX_NAME_BYTES || length + NAME_AT > payloadLength ? 0 : length;
    }
}
