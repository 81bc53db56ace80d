package io.waybill.event;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.event.CallEvent;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * A reusable event. Filled by {@link #open} and what follows it, and passed to {@link CallListeners#notify}.
 *
 * <p><b>Threads.</b> Belongs to one at a time; the housekeeper reads which listener it is in.
 */
public final class EventView implements CallEvent {

    private static final VarHandle INSIDE;

    static {
        try {
            INSIDE = MethodHandles.lookup().findVarHandle(EventView.class, "inside", ListenerEntry.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final CallListeners owner;
    private final UnsafeBuffer heap = new UnsafeBuffer(0, 0); // of a payload in an array
    private boolean open;
    private Kind kind;
    private long id;
    private long parentId;
    private int peer;
    private MessageType type;
    private DirectBuffer buffer;
    private int nameAt;
    private int nameLength; // 0 for none
    private String operation; // null until it was asked for
    private int bytes;
    private int tensors;
    private int depth;
    private ErrorCode error;
    private long timeNs; // 0 until it was asked for
    private ListenerEntry inside; // null for none
    private Thread thread; // the last one that was inside
    private long turns;
    // By the housekeeper: what it saw last, and since when.
    private long seenTurns;
    private long reportedTurns;
    private long seenNs;

    EventView(CallListeners owner) {
        this.owner = owner;
    }

    /** Begins an event, without a name, a size, an error or a time. */
    public EventView open(Kind what, long callId, int otherSide, MessageType messageType) {
        kind = what;
        id = callId;
        peer = otherSide;
        type = messageType;
        parentId = MessageId.NONE;
        buffer = null;
        nameLength = 0;
        operation = null;
        bytes = 0;
        tensors = 0;
        depth = 0;
        error = null;
        timeNs = 0;
        return this;
    }

    /** Makes another event of the same call. */
    public EventView again(Kind what, long bootNs) {
        kind = what;
        timeNs = bootNs;
        return this;
    }

    public EventView parent(long callId) {
        parentId = callId;
        return this;
    }

    /** Sets where the name is, while the event lasts. */
    public EventView name(DirectBuffer of, int at, int length) {
        buffer = of;
        nameAt = at;
        nameLength = length;
        return this;
    }

    /** Sets where the name is, as {@link #name(DirectBuffer, int, int)}. */
    public EventView name(byte[] of, int at, int length) {
        heap.wrap(of);
        return name(heap, at, length);
    }

    /** Sets the worker on the other side. */
    public EventView peer(int otherSide) {
        peer = otherSide;
        return this;
    }

    /** Reads the name now, because its buffer is reused before the listeners are called. */
    public EventView resolved() {
        operation = name();
        buffer = null;
        return this;
    }

    public EventView size(int recordBytes, int tensorCount) {
        bytes = recordBytes;
        tensors = tensorCount;
        return this;
    }

    /** Sets how many messages the message is inside of. */
    public EventView inside(int messages) {
        depth = messages;
        return this;
    }

    public EventView error(ErrorCode code) {
        error = code;
        return this;
    }

    /** Sets the time, on the boot clock; 0 for the time when it is asked for. */
    public EventView at(long bootNs) {
        timeNs = bootNs;
        return this;
    }

    /** Returns a copy for another thread. */
    EventView copy() {
        EventView copy = owner.newEvent();
        copy.open(kind, id, peer, type)
                .parent(parentId)
                .size(bytes, tensors)
                .inside(depth)
                .error(error);
        copy.operation = name();
        copy.timeNs = time();
        return copy;
    }

    // ---- calls of listeners

    boolean isOpen() {
        return open;
    }

    void enter(ListenerEntry entry) {
        open = true;
        thread = Thread.currentThread();
        turns++;
        INSIDE.setRelease(this, entry);
    }

    void leave() {
        INSIDE.setOpaque(this, null);
        open = false;
    }

    /** Returns the listener that has not returned for so long; null for none. By the housekeeper. */
    ListenerEntry hangs(long nowNs, long limitNs) {
        ListenerEntry entry = (ListenerEntry) INSIDE.getAcquire(this);
        long now = turns;
        if (entry == null || now != seenTurns) {
            seenTurns = now;
            seenNs = nowNs;
            return null;
        }
        return nowNs - seenNs >= limitNs ? entry : null;
    }

    /** Returns whether this is the first time that this call of a listener is found to hang. By the housekeeper. */
    boolean isFirstReport() {
        boolean first = reportedTurns != seenTurns;
        reportedTurns = seenTurns;
        return first;
    }

    Thread thread() {
        return thread;
    }

    // ---- what listeners see

    private void requireOpen() {
        if (!open) {
            throw new IllegalStateException("an event is valid until the listener returns");
        }
    }

    @Override
    public Kind kind() {
        requireOpen();
        return kind;
    }

    @Override
    public long id() {
        requireOpen();
        return id;
    }

    @Override
    public long parentId() {
        requireOpen();
        return parentId;
    }

    @Override
    public int peer() {
        requireOpen();
        return peer;
    }

    @Override
    public MessageType type() {
        requireOpen();
        return type;
    }

    @Override
    public String operation() {
        requireOpen();
        return name();
    }

    private String name() {
        if (operation == null) {
            operation = nameLength == 0 ? type.name() : owner.names().of(buffer, nameAt, nameLength);
        }
        return operation;
    }

    @Override
    public int bytes() {
        requireOpen();
        return bytes;
    }

    @Override
    public int tensors() {
        requireOpen();
        return tensors;
    }

    @Override
    public int depth() {
        requireOpen();
        return depth;
    }

    @Override
    public ErrorCode error() {
        requireOpen();
        return error;
    }

    @Override
    public long timeNs() {
        requireOpen();
        return time();
    }

    private long time() {
        if (timeNs == 0) {
            timeNs = owner.clock().bootNs();
        }
        return timeNs;
    }
}
