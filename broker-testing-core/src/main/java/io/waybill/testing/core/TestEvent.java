package io.waybill.testing.core;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.context.TraceContext;
import io.waybill.api.event.CallEvent;

/**
 * Event of a call, for a test of a {@code CallEvents} listener. Immutable, so valid after its callback.
 *
 * @param trace trace in the caller's span; null for none
 * @param spanId id of the call's span; 0 without a trace
 * @param responder name and version of the handler's bundle; empty for none
 */
public record TestEvent(
        Kind kind,
        long id,
        long parentId,
        int peer,
        MessageType type,
        String operation,
        int bytes,
        int tensors,
        int depth,
        ErrorCode error,
        TraceContext trace,
        long spanId,
        long timeNs,
        String responder)
        implements CallEvent {

    /** Creates an event of a call by name with this id, without an error. */
    public static TestEvent of(Kind kind, long id, String operation, long timeNs) {
        return new TestEvent(
                kind, id, MessageId.NONE, 1, MessageType.NAMED_CALL, operation, 100, 0, 0, null, null, 0, timeNs, "");
    }

    /** Returns this event with an error. */
    public TestEvent failed(ErrorCode code) {
        return new TestEvent(
                kind, id, parentId, peer, type, operation, bytes, tensors, depth, code, trace, spanId, timeNs,
                responder);
    }

    /** Returns this event with the name and version of the bundle whose handler got the request. */
    public TestEvent by(String bundle) {
        return new TestEvent(
                kind, id, parentId, peer, type, operation, bytes, tensors, depth, error, trace, spanId, timeNs, bundle);
    }

    /** Returns this event for a message inside the given number of others. */
    public TestEvent inside(int messages) {
        return new TestEvent(
                kind, id, parentId, peer, type, operation, bytes, tensors, messages, error, trace, spanId, timeNs,
                responder);
    }

    /** Returns this event for a call of a trace, made from the trace's span, with the given span. */
    public TestEvent traced(TraceContext of, long span) {
        return new TestEvent(
                kind, id, parentId, peer, type, operation, bytes, tensors, depth, error, of, span, timeNs, responder);
    }

    @Override
    public long traceIdHigh() {
        return trace == null ? 0 : trace.traceIdHigh();
    }

    @Override
    public long traceIdLow() {
        return trace == null ? 0 : trace.traceIdLow();
    }

    @Override
    public long callerSpanId() {
        return trace == null ? 0 : trace.spanId();
    }

    @Override
    public boolean isSampled() {
        return trace != null && trace.isSampled();
    }

    /** Returns {@link #timeNs()}: the clocks of a test start together. */
    @Override
    public long wallNs() {
        return timeNs;
    }
}
