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
    private final ThreadLocal<InvocationSlot> own = ThreadLocal.withInitial(this::newSlot);

    private InvocationSlot newSlot() {
        InvocationSlot slot = new InvocationSlot(Thread.currentThread());
        slots.add(slot);
        return slot;
    }

    /** That of the calling thread. */
    InvocationSlot own() {
        return own.get();
    }

    /** All, while threads come. Who iterates takes out those whose thread ended. */
    Iterator<InvocationSlot> all() {
        return slots.iterator();
    }
}
