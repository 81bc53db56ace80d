package io.waybill.worker.poll;

import io.waybill.exchange.CallOrigin;
import io.waybill.exchange.HandlerCall;
import io.waybill.host.Threads;
import java.util.Iterator;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * The {@link HandlerSlot}s of all threads that run handlers of a worker.
 *
 * <p><b>Threads.</b> Any.
 */
public final class HandlerSlots {

    private final Queue<HandlerSlot> slots = new ConcurrentLinkedQueue<>();
    private final Threads threads;
    private final ThreadLocal<HandlerSlot> own;

    public HandlerSlots(Threads threads) {
        this.threads = threads;
        this.own = threads.local();
    }

    private HandlerSlot newSlot() {
        HandlerSlot slot = new HandlerSlot(threads.current());
        slots.add(slot);
        own.set(slot);
        return slot;
    }

    /** Returns how these threads wait for others. */
    public Threads threads() {
        return threads;
    }

    /** Returns the slot of the calling thread. */
    public HandlerSlot own() {
        HandlerSlot slot = own.get();
        return slot == null ? newSlot() : slot;
    }

    /** Returns the origin of the calling thread's calls: the request whose handler it is inside of, or the program. */
    CallOrigin origin() {
        HandlerSlot slot = own.get();
        HandlerCall inside = slot == null ? null : slot.innermost();
        return inside == null ? CallOrigin.PROGRAM : inside;
    }

    /** Iterates over all slots, while threads are added. The caller removes the slots whose thread has ended. */
    public Iterator<HandlerSlot> all() {
        return slots.iterator();
    }
}
