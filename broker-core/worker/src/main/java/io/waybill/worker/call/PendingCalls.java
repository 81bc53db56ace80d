package io.waybill.worker.call;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.ResponseListener;
import io.waybill.api.context.CallContext;
import io.waybill.wire.Envelope;
import io.waybill.worker.metrics.OperationCounts;
import io.waybill.worker.peer.CallErrors;
import io.waybill.worker.peer.PeerLink;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Predicate;

/**
 * Table of in-flight calls: a fixed ring of reusable slots, keyed by message id. Allocates nothing per call.
 *
 * <p><b>Threads.</b> {@link #claim} under the lock of the requests' appender; everything else from any thread. Only the
 * thread that {@link #take takes} a call completes it.
 */
public final class PendingCalls {

    /** Flag of a call that is not in its record: the receiver sees the same there. */
    static final int MAY_BE_LEFT = 1 << Byte.SIZE;

    private static final int SLOTS_AT_ONCE = 16;

    private static final long FREE = -1;
    private static final long TAKEN = -2;
    private static final VarHandle NEXT_COUNTER;

    static {
        try {
            NEXT_COUNTER = MethodHandles.lookup().findVarHandle(PendingCalls.class, "nextCounter", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final AtomicReferenceArray<Slot> slots;
    private final int mask;
    private final int workerId;
    private long nextCounter;

    public PendingCalls(int workerId, int capacity, long firstCounter) {
        int size = Math.max(2, Integer.highestOneBit(Math.max(1, capacity - 1)) << 1);
        this.slots = new AtomicReferenceArray<>(size);
        this.mask = size - 1;
        this.workerId = workerId;
        this.nextCounter = firstCounter;
    }

    /** Slot for one call. */
    static final class Slot {
        private static final VarHandle ID;
        private static final VarHandle DEADLINE;

        static {
            try {
                ID = MethodHandles.lookup().findVarHandle(Slot.class, "id", long.class);
                DEADLINE = MethodHandles.lookup().findVarHandle(Slot.class, "deadlineNs", long.class);
            } catch (ReflectiveOperationException e) {
                throw new ExceptionInInitializerError(e);
            }
        }

        private volatile long id = FREE;
        private long claimedId; // by the thread that claims it, under the lock: others may take the call immediately
        private ResponseListener listener;
        private CallContext context;
        private PeerLink link;
        private OperationCounts counts; // stays with the slot: a write of a reference costs as much as several numbers
        private long sentNs; // wall clock
        private int bytes;
        private int flags;
        private boolean arrived; // set by the permit's holder
        private boolean counted; // set by the thread that has taken the call
        private long timeoutNs;
        private volatile long deadlineNs;

        long id() {
            return id;
        }

        /**
         * Returns the id with which the call was claimed. Under the lock of the requests' appender, by the thread that
         * has claimed it.
         */
        long claimedId() {
            return claimedId;
        }

        PeerLink link() {
            return link;
        }

        /** Returns the context that is current for the listener. */
        CallContext context() {
            return context;
        }

        /** Returns whether a later incarnation of the peer may respond to the call. */
        boolean isAcrossIncarnations() {
            return (flags & Envelope.ACROSS_INCARNATIONS) != 0;
        }

        /**
         * Returns whether the next incarnation of the peer may run the call if this incarnation leaves in order before
         * it begins.
         */
        boolean mayBeLeft() {
            return (flags & MAY_BE_LEFT) != 0;
        }

        /** Returns whether the listener keeps the response beyond the callback. */
        boolean isKeeping() {
            return listener instanceof RetainingListener
                    || listener instanceof CallInterception call && call.isKeeping();
        }

        /** Returns whether the response has arrived, and only the conversion of its tensors is outstanding. */
        boolean hasArrived() {
            return arrived;
        }

        /** Marks that the response has arrived. By the holder of the permit, while it has taken the call. */
        void arrive() {
            arrived = true;
        }

        /**
         * Counts the outcome of the call, once. By the holder of the permit, while it has taken the call.
         *
         * @param error null for none
         * @param nowNs on the wall clock
         */
        void count(ErrorCode error, int responseBytes, long nowNs) {
            if (!counted) {
                counted = true;
                counts.ended(error, nowNs - sentNs, bytes, responseBytes);
            }
        }

        /** Counts the outcome as {@link #count} does, by a thread without the permit that has taken the call. */
        void countElsewhere(ErrorCode error, int responseBytes, long nowNs) {
            if (!counted) {
                counted = true;
                counts.endedElsewhere(error, nowNs - sentNs, bytes, responseBytes);
            }
        }

        /** Returns the timeout that the caller had set, for the error's text; 0 for none. */
        long timeoutNs() {
            return timeoutNs;
        }
    }

    /**
     * Claims the next id with a free slot; from now on the call can be completed.
     *
     * @param context current for the listener
     * @param flags of the request's record, and {@link #MAY_BE_LEFT}
     * @param counts for its outcome
     * @param sentNs on the wall clock
     * @return the slot, or null when all are in use
     */
    Slot claim(
            ResponseListener listener,
            CallContext context,
            PeerLink link,
            int bytes,
            int flags,
            OperationCounts counts,
            long sentNs,
            long deadlineNs,
            long timeoutNs) {
        return claim(listener, context, link, bytes, flags, counts, false, sentNs, deadlineNs, timeoutNs);
    }

    private Slot claim(
            ResponseListener listener,
            CallContext context,
            PeerLink link,
            int bytes,
            int flags,
            OperationCounts counts,
            boolean counted,
            long sentNs,
            long deadlineNs,
            long timeoutNs) {
        for (int tries = 0; tries <= mask; tries++) {
            long counter = nextCounter();
            int at = (int) counter & mask;
            Slot slot = slots.getAcquire(at);
            if (slot == null) {
                slot = addSlots(at);
            }
            if (slot.id == FREE) {
                slot.listener = listener;
                slot.context = context;
                slot.link = link;
                if (slot.counts != counts) {
                    slot.counts = counts;
                }
                slot.sentNs = sentNs;
                slot.bytes = bytes;
                slot.flags = flags;
                slot.arrived = false;
                slot.counted = counted;
                slot.timeoutNs = timeoutNs;
                Slot.DEADLINE.setOpaque(slot, deadlineNs);
                long id = MessageId.of(workerId, counter);
                slot.claimedId = id;
                Slot.ID.setRelease(slot, id); // last: other threads may take it from here
                return slot;
            }
        }
        return null;
    }

    /**
     * Adds the slot at a position, and slots behind it. Adds several at once: if each claim were the first of its slot
     * until the ring is full, the JIT would compile the whole path of a call for that case, and again afterwards.
     */
    private Slot addSlots(int at) {
        int end = Math.min(at + SLOTS_AT_ONCE, slots.length());
        for (int i = at; i < end; i++) {
            if (slots.getPlain(i) == null) {
                slots.setRelease(i, new Slot());
            }
        }
        return slots.getPlain(at);
    }

    /** Returns a counter above all ids claimed so far, apart from claims in progress. Any thread. */
    public long nextCounterNow() {
        return (long) NEXT_COUNTER.getOpaque(this);
    }

    private long nextCounter() {
        long counter = nextCounter;
        if (counter > MessageId.MAX_COUNTER) {
            throw CallErrors.refused(ErrorCode.CLOSED, "this worker's message counter has reached its end, 2^48");
        }
        NEXT_COUNTER.setOpaque(this, counter + 1);
        return counter;
    }

    /** Returns the next id, for a request whose response no caller waits for. Under the lock, as {@link #claim}. */
    long spareId() {
        return MessageId.of(workerId, nextCounter());
    }

    /**
     * Moves a call without an outcome to the next id. Under the lock, as {@link #claim}.
     *
     * @return that id; {@link MessageId#NONE} when the call has its outcome
     */
    long renew(long id) {
        Slot old = take(id);
        if (old == null) {
            return MessageId.NONE;
        }
        ResponseListener listener = old.listener;
        CallContext context = old.context;
        PeerLink link = old.link;
        int bytes = old.bytes;
        int flags = old.flags;
        OperationCounts counts = old.counts;
        boolean counted = old.counted;
        long sentNs = old.sentNs;
        long deadlineNs = old.deadlineNs;
        long timeoutNs = old.timeoutNs;
        Slot.ID.setRelease(old, FREE);
        return claim(listener, context, link, bytes, flags, counts, counted, sentNs, deadlineNs, timeoutNs)
                .claimedId; // there is always room: at worst the old slot
    }

    /** Takes the call with this id if it has no outcome; the caller of this method must complete it. */
    Slot take(long id) {
        Slot slot = slots.getAcquire((int) id & mask);
        return slot != null && Slot.ID.compareAndSet(slot, id, TAKEN) ? slot : null;
    }

    /** Undoes {@link #take}: the call remains in flight. */
    void giveBack(Slot slot, long id) {
        Slot.ID.setRelease(slot, id);
    }

    /**
     * Takes a call back whose request was not written; false when another thread has completed it. Under the lock, as
     * {@link #claim}.
     */
    boolean takeBack(Slot slot, long id) {
        if (take(id) == null) {
            return false;
        }
        slot.link.flow().notWritten();
        free(slot);
        return true;
    }

    /**
     * Returns the listener of a taken call whose response can be delivered. Frees the slot, unless interceptors see the
     * response first: then the call remains in flight, and they free it.
     */
    ResponseListener responding(Slot slot, long id) {
        if (slot.listener instanceof CallInterception call) {
            call.responseArrives();
            slot.arrive();
            giveBack(slot, id);
            return call;
        }
        return free(slot);
    }

    /** Frees a slot that was taken, and returns its listener. */
    ResponseListener free(Slot slot) {
        ResponseListener listener = slot.listener;
        slot.link.flow().completed(slot.bytes);
        slot.listener = null;
        slot.context = null;
        slot.link = null;
        Slot.ID.setRelease(slot, FREE);
        return listener;
    }

    /**
     * Takes every call whose deadline has passed.
     *
     * @return the earliest deadline of the others; {@link Long#MAX_VALUE} when there is none
     */
    long expire(long nowNs, Completed completed) {
        long earliest = Long.MAX_VALUE;
        for (int i = 0; i <= mask; i++) {
            Slot slot = slots.getAcquire(i);
            if (slot == null) {
                continue;
            }
            long id = slot.id;
            long deadlineNs = slot.deadlineNs;
            if (id < 0 || deadlineNs == 0) {
                continue;
            }
            if (deadlineNs > nowNs) {
                earliest = Math.min(earliest, deadlineNs);
            } else if (Slot.ID.compareAndSet(slot, id, TAKEN)) {
                completed.onTaken(slot, id);
            }
        }
        return earliest;
    }

    /** Takes every call that matches the predicate. */
    void takeWhere(Predicate<Slot> predicate, Completed completed) {
        for (int i = 0; i <= mask; i++) {
            Slot slot = slots.getAcquire(i);
            if (slot == null) {
                continue;
            }
            long id = slot.id;
            if (id >= 0 && predicate.test(slot) && Slot.ID.compareAndSet(slot, id, TAKEN)) {
                completed.onTaken(slot, id);
            }
        }
    }

    /** Returns the id of the oldest call without an outcome; negative when there is none. */
    public long oldest() {
        long oldest = FREE;
        for (int i = 0; i <= mask; i++) {
            Slot slot = slots.getAcquire(i);
            long id = slot == null ? FREE : slot.id;
            if (id >= 0 && (oldest == FREE || id < oldest)) {
                oldest = id;
            }
        }
        return oldest;
    }

    /** Returns the number of calls without an outcome. */
    public int size() {
        int count = 0;
        for (int i = 0; i <= mask; i++) {
            Slot slot = slots.getAcquire(i);
            count += slot != null && slot.id >= 0 ? 1 : 0;
        }
        return count;
    }

    /**
     * Returns the number of calls that a thread is completing. Their slots are free when the thread has completed them.
     */
    public int taken() {
        int count = 0;
        for (int i = 0; i <= mask; i++) {
            Slot slot = slots.getAcquire(i);
            if (slot != null && slot.id == TAKEN) {
                count++;
            }
        }
        return count;
    }

    /** Receiver of calls that were taken. */
    @FunctionalInterface
    interface Completed {
        void onTaken(Slot slot, long id);
    }

    /** Listener that keeps the response beyond the callback. */
    interface RetainingListener extends ResponseListener {}
}
