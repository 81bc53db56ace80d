package io.waybill.worker;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Which threads are inside a non-blocking handler, and since when the poller's own is. Such a thread must not wait for other workers.
 *
 * <p><b>Threads.</b> Any.
 */
final class InlineCalls {

    private final ThreadLocal<Depth> depth = ThreadLocal.withInitial(Depth::new);
    private volatile Thread poller;
    // Odd while the poller's thread is inside a handler; written by it, read by the housekeeper.
    private final AtomicLong pollerSteps = new AtomicLong();

    /** How deep one thread is inside such handlers. */
    static final class Depth {
        private int calls;
    }

    /** The thread whose calls are timed. */
    void poller(Thread thread) {
        pollerSteps.set(0);
        poller = thread;
    }

    Depth enter() {
        Depth own = depth.get();
        own.calls++;
        if (Thread.currentThread() == poller) {
            pollerSteps.lazySet(pollerSteps.get() | 1);
        }
        return own;
    }

    void leave(Depth own) {
        own.calls--;
        if (Thread.currentThread() == poller) {
            pollerSteps.lazySet((pollerSteps.get() | 1) + 1);
        }
    }

    boolean isInside() {
        return depth.get().calls > 0;
    }

    /** Odd while the poller is inside a handler; the same odd number again means that it is still inside the same one. */
    long pollerSteps() {
        return pollerSteps.get();
    }
}
