package io.waybill.worker;

import io.waybill.host.Clock;

/**
 * Which threads are inside a non-blocking handler, and since when the poller's own is. Such a thread must not wait for other workers.
 *
 * <p><b>Threads.</b> Any.
 */
final class InlineCalls {

    private final Clock clock;
    private final ThreadLocal<Depth> depth = ThreadLocal.withInitial(Depth::new);
    private volatile Thread poller;
    // Written by the poller, read by the housekeeper.
    private volatile long pollerInsideSinceNs;

    InlineCalls(Clock clock) {
        this.clock = clock;
    }

    private static final class Depth {
        int calls;
    }

    /** The thread whose calls are timed. */
    void poller(Thread thread) {
        poller = thread;
        pollerInsideSinceNs = 0;
    }

    void enter() {
        depth.get().calls++;
        if (Thread.currentThread() == poller) {
            pollerInsideSinceNs = clock.monotonicNs();
        }
    }

    void leave() {
        depth.get().calls--;
        if (Thread.currentThread() == poller) {
            pollerInsideSinceNs = 0;
        }
    }

    boolean isInside() {
        return depth.get().calls > 0;
    }

    /** How long the poller has been inside a handler; 0 when it is not. */
    long pollerInsideNs() {
        long since = pollerInsideSinceNs;
        return since == 0 ? 0 : clock.monotonicNs() - since;
    }
}
