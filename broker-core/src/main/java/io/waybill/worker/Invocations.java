package io.waybill.worker;

import java.util.Iterator;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * The threads that run handlers of a worker, or may: each has an {@link InvocationSlot}.
 *
 * <p><b>Threads.</b> Any.
 */
final class Invocations {

    private final Queue<InvocationSlot> slots = new ConcurrentLinkedQueue<>();
    private final ThreadLocal<InvocationSlot> own = new ThreadLocal<>();

    private InvocationSlot newSlot() {
        InvocationSlot slot = new InvocationSlot(Thread.currentThread());
        slots.add(slot);
        own.set(slot);
        return slot;
    }

    /** That of the calling thread. */
    InvocationSlot own() {
        InvocationSlot slot = own.get();
        return slot == null ? newSlot() : slot;
    }

    /** On whose behalf the calling thread calls: that of the request whose handler it is inside of, if any. */
    CallOrigin origin() {
        InvocationSlot slot = own.get();
        Invocation inside = slot == null ? null : slot.innermost();
        return inside == null ? CallOrigin.PROGRAM : inside;
    }

    /** All, while threads come. Who iterates takes out those whose thread ended. */
    Iterator<InvocationSlot> all() {
        return slots.iterator();
    }
}
