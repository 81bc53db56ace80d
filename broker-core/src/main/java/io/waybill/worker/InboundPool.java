package io.waybill.worker;

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.agrona.concurrent.ManyToManyConcurrentArrayQueue;

/** Inbound requests that are not in use, with their buffers. Thread-safe. */
final class InboundPool {

    private static final int KEPT = 1024;
    /** A buffer that grew beyond this is not kept. */
    private static final int LARGEST_KEPT_BYTES = 1 << 20;

    private final ManyToManyConcurrentArrayQueue<Inbound> free = new ManyToManyConcurrentArrayQueue<>(KEPT);
    private final AtomicReference<Inbound> last = new AtomicReference<>(); // the one that is warm in the caches
    private final Function<InboundPool, Inbound> maker;
    private final OpenRequests open;

    InboundPool(Function<InboundPool, Inbound> maker, OpenRequests open) {
        this.maker = maker;
        this.open = open;
    }

    Inbound take() {
        Inbound latest = last.getAndSet(null);
        if (latest != null) {
            return latest;
        }
        Inbound inbound = free.poll();
        return inbound != null ? inbound : maker.apply(this);
    }

    void give(Inbound inbound) {
        if (inbound.memoryBytes() <= LARGEST_KEPT_BYTES) {
            Inbound earlier = last.getAndSet(inbound);
            if (earlier != null && !free.offer(earlier)) {
                drop(earlier);
            }
        } else {
            drop(inbound);
        }
    }

    /** What a new one has in flight. */
    OpenRequest open(Inbound added) {
        return open.add(added);
    }

    /** It is not used again. */
    void drop(Inbound inbound) {
        open.remove(inbound.inHand());
    }
}
