package io.waybill.testing.core;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.event.CallEvent;

/** An event of a call, for a {@code CallEvents} listener that is tested alone. Immutable, so valid after its callback. */
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
        long timeNs)
        implements CallEvent {

    /** An event of a call by name with this id, without an error. */
    public static TestEvent of(Kind kind, long id, String operation, long timeNs) {
        return new TestEvent(kind, id, MessageId.NONE, 1, MessageType.NAMED_CALL, operation, 100, 0, 0, null, timeNs);
    }

    /** Returns this event with an error. */
    public TestEvent failed(ErrorCode code) {
        return new TestEvent(kind, id, parentId, peer, type, operation, bytes, tensors, depth, code, timeNs);
    }

    /** Returns this event for a message that is inside so many others. */
    public TestEvent inside(int messages) {
        return new TestEvent(kind, id, parentId, peer, type, operation, bytes, tensors, messages, error, timeNs);
    }
}
