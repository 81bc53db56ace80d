package io.waybill.worker.poll;

import java.util.Iterator;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * The threads that run handlers of a worker, or may: each has an {@link HandlerSlot}.
 *
 * <p><b>Threads.</b> Any.
 */
public final class HandlerSlots {

    private final Queue<HandlerSlot> slots = new ConcurrentLinkedQueue<>();
    private final ThreadLocal<HandlerSlot> own = new ThreadLocal<>();

    private HandlerSlot newSlot() {
        HandlerSlot slot = new HandlerSlot(Thread.currentThread());
        slots.add(slot);
        own.set(slot);
        return slot;
    }

    /** That of the calling thread. */
    public HandlerSlot own() {
        HandlerSlot slot = own.get();
        return slot == null ? newSlot() : slot;
    }

    /** On whose behalf the calling thread calls: that of the request whose handler it is inside of, if any. */
    CallOrigin origin() {
        HandlerSlot slot = own.get();
        HandlerCall inside = slot == null ? null : slot.innermost();
        return inside == null ? CallOrigin.PROGRAM : inside;
    }

    /** All, while threads come. Who iterates takes out those whose thread ended. */
    public Iterator<HandlerSlot> all() {
        return slots.iterator();
    }
}
