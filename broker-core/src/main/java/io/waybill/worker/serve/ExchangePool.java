package io.waybill.worker.serve;

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.agrona.concurrent.ManyToManyConcurrentArrayQueue;

/** Exchanges that are not in use, with their buffers. Thread-safe. */
public final class ExchangePool {

    private static final int KEPT = 1024;
    /** A buffer that grew beyond this is not kept. */
    private static final int LARGEST_KEPT_BYTES = 1 << 20;

    private final ManyToManyConcurrentArrayQueue<Exchange> free = new ManyToManyConcurrentArrayQueue<>(KEPT);
    private final AtomicReference<Exchange> last = new AtomicReference<>(); // the one that is warm in the caches
    private final Function<ExchangePool, Exchange> maker;
    private final OpenRequests open;

    public ExchangePool(Function<ExchangePool, Exchange> maker, OpenRequests open) {
        this.maker = maker;
        this.open = open;
    }

    Exchange take() {
        Exchange latest = last.getAndSet(null);
        if (latest != null) {
            return latest;
        }
        Exchange exchange = free.poll();
        return exchange != null ? exchange : maker.apply(this);
    }

    void give(Exchange exchange) {
        if (exchange.memoryBytes() <= LARGEST_KEPT_BYTES) {
            Exchange earlier = last.getAndSet(exchange);
            if (earlier != null && !free.offer(earlier)) {
                drop(earlier);
            }
        } else {
            drop(exchange);
        }
    }

    /** What a new one has in flight. */
    OpenRequest open(Exchange added) {
        return open.add(added);
    }

    /** It is not used again. */
    void drop(Exchange exchange) {
        open.remove(exchange.inFlight());
    }
}
