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
 * Reusable event. Filled by {@link #open} and the setters after it, and passed to {@link CallListeners#notify}.
 *
 * <p><b>Threads.</b> Belongs to one thread at a time; the housekeeper reads the listener that it is in.
 */
public final class EventView implements CallEvent {

    private static final Kind[] KINDS = Kind.values();
    private static final VarHandle TURNS;

    static {
        try {
            TURNS = MethodHandles.lookup().findVarHandle(EventView.class, "turns", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final CallListeners owner;
    private final UnsafeBuffer heap = new UnsafeBuffer(0, 0); // of a payload in an array
    // References are written only if they change, because each write of one costs as much as several numbers.
    private int kind;
    private long id;
    private long parentId;
    private int peer;
    private int typeCode;
    private DirectBuffer buffer; // valid with a name
    private int nameAt;
    private int nameLength; // 0 for none
    private String operation; // null until the first read
    private int bytes;
    private int tensors;
    private int depth;
    private long spanId; // 0 for no trace; otherwise this and the next four fields are valid
    private long callerSpanId;
    private long traceIdHigh;
    private long traceIdLow;
    private boolean sampled;
    private String servedBy = ""; // valid for the kinds BEGUN and RESPONDED, whose creators set it
    private ErrorCode error;
    private long timeNs; // 0 until the first read
    private ListenerEntry inside; // the listener that was called last
    private Thread thread; // the last thread that was inside a listener
    private long turns; // odd while a listener is called
    // By the housekeeper: the turns that it read last, and since when.
    private long seenTurns;
    private long reportedTurns;
    private long seenNs;

    EventView(CallListeners owner) {
        this.owner = owner;
    }

    /** Begins an event, without a name, a size, an error or a time. */
    public EventView open(Kind what, long callId, int otherSide, MessageType messageType) {
        return open(what, callId, otherSide, messageType.code());
    }

    /** Begins an event of a message whose type has this code. */
    public EventView open(Kind what, long callId, int otherSide, int messageType) {
        kind = what.ordinal();
        id = callId;
        peer = otherSide;
        typeCode = messageType;
        parentId = MessageId.NONE;
        nameLength = 0;
        if (operation != null) {
            operation = null;
        }
        bytes = 0;
        tensors = 0;
        depth = 0;
        spanId = 0;
        timeNs = 0;
        return error(null);
    }

    int kindBit() {
        return 1 << kind;
    }

    /** Makes another event of the same call. */
    public EventView again(Kind what, long bootNs) {
        kind = what.ordinal();
        timeNs = bootNs;
        return this;
    }

    public EventView parent(long callId) {
        parentId = callId;
        return this;
    }

    /** Sets the trace that the call belongs to, and the call's own span, which is not 0. */
    public EventView trace(long idHigh, long idLow, long span, long callerSpan, boolean isSampled) {
        traceIdHigh = idHigh;
        traceIdLow = idLow;
        spanId = span;
        callerSpanId = callerSpan;
        sampled = isSampled;
        return this;
    }

    /** Sets the location of the name, for the duration of the event. */
    public EventView name(DirectBuffer of, int at, int length) {
        if (buffer != of) {
            buffer = of;
        }
        nameAt = at;
        nameLength = length;
        return this;
    }

    /** Sets the location of the name, as {@link #name(DirectBuffer, int, int)}. */
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
        if (nameLength > 0) { // otherwise the operation is the name of the type
            operation = name();
        }
        return this;
    }

    public EventView size(int recordBytes, int tensorCount) {
        bytes = recordBytes;
        tensors = tensorCount;
        return this;
    }

    /** Sets the number of messages that the message is inside of. */
    public EventView inside(int messages) {
        depth = messages;
        return this;
    }

    /** Sets the name of the handler's provider, before or after {@link #open}; empty if no handler got the request. */
    public EventView servedBy(String provider) {
        if (servedBy != provider) {
            servedBy = provider;
        }
        return this;
    }

    public EventView error(ErrorCode code) {
        if (error != code) {
            error = code;
        }
        return this;
    }

    /** Sets the time, on the boot clock; 0 for the time of the first read. */
    public EventView at(long bootNs) {
        timeNs = bootNs;
        return this;
    }

    /** Returns a copy for another thread. */
    EventView copy() {
        EventView copy = owner.newEvent();
        copy.open(KINDS[kind], id, peer, typeCode)
                .parent(parentId)
                .size(bytes, tensors)
                .inside(depth)
                .servedBy(servedBy)
                .error(error);
        copy.trace(traceIdHigh, traceIdLow, spanId, callerSpanId, sampled);
        copy.operation = name();
        copy.timeNs = time();
        return copy;
    }

    // ---- calls of listeners

    boolean isOpen() {
        return (turns & 1) != 0;
    }

    void enter(ListenerEntry entry) {
        Thread own = Thread.currentThread();
        if (thread != own) {
            thread = own;
        }
        if (inside != entry) {
            inside = entry;
        }
        TURNS.setRelease(this, turns + 1); // last: a thread that sees it sees the other fields
    }

    void leave() {
        TURNS.setOpaque(this, turns + 1);
    }

    /**
     * Returns the time for which a listener has not returned; 0 for none. By the housekeeper.
     *
     * @param isFirst whether earlier readings do not count
     */
    long insideNs(long nowNs, boolean isFirst) {
        long now = (long) TURNS.getAcquire(this);
        if ((now & 1) == 0 || now != seenTurns || isFirst) {
            seenTurns = now;
            seenNs = nowNs;
            return 0;
        }
        return nowNs - seenNs;
    }

    /** Returns the listener that was called last. By the housekeeper. */
    ListenerEntry inside() {
        return inside;
    }

    /** Returns whether this is the first time that this call of a listener is found to be stuck. By the housekeeper. */
    boolean isFirstReport() {
        boolean first = reportedTurns != seenTurns;
        reportedTurns = seenTurns;
        return first;
    }

    Thread thread() {
        return thread;
    }

    // ---- fields for listeners

    private void requireOpen() {
        if (!isOpen()) {
            throw new IllegalStateException("an event is valid until the listener returns");
        }
    }

    @Override
    public Kind kind() {
        requireOpen();
        return KINDS[kind];
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
        return MessageType.of(typeCode);
    }

    @Override
    public String operation() {
        requireOpen();
        return name();
    }

    private String name() {
        if (operation == null) {
            operation = nameLength == 0
                    ? MessageType.of(typeCode).name()
                    : owner.names().of(buffer, nameAt, nameLength);
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
    public String responder() {
        requireOpen();
        return kind == Kind.BEGUN.ordinal() || kind == Kind.RESPONDED.ordinal() ? servedBy : "";
    }

    @Override
    public ErrorCode error() {
        requireOpen();
        return error;
    }

    @Override
    public long traceIdHigh() {
        requireOpen();
        return spanId == 0 ? 0 : traceIdHigh;
    }

    @Override
    public long traceIdLow() {
        requireOpen();
        return spanId == 0 ? 0 : traceIdLow;
    }

    @Override
    public long spanId() {
        requireOpen();
        return spanId;
    }

    @Override
    public long callerSpanId() {
        requireOpen();
        return spanId == 0 ? 0 : callerSpanId;
    }

    @Override
    public boolean isSampled() {
        requireOpen();
        return spanId != 0 && sampled;
    }

    @Override
    public long timeNs() {
        requireOpen();
        return time();
    }

    @Override
    public long wallNs() {
        requireOpen();
        return owner.clock().wallNsAt(time());
    }

    private long time() {
        if (timeNs == 0) {
            timeNs = owner.clock().bootNs();
        }
        return timeNs;
    }
}
