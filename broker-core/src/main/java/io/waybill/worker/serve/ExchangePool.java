package io.waybill.worker.serve;

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.agrona.concurrent.ManyToManyConcurrentArrayQueue;

/** Pool of unused exchanges, with their buffers. Thread-safe. */
public final class ExchangePool {

    private static final int KEPT = 1024;
    /** Max size of a pooled buffer. */
    private static final int LARGEST_KEPT_BYTES = 1 << 20;

    private final ManyToManyConcurrentArrayQueue<Exchange> free = new ManyToManyConcurrentArrayQueue<>(KEPT);
    private final AtomicReference<Exchange> last = new AtomicReference<>(); // the most recently used
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

    /** Returns how many exchanges are neither unused here nor dropped. */
    int held() {
        return open.slots() - free.size() - (last.get() == null ? 0 : 1);
    }

    /** Creates the request slot of a new exchange. */
    OpenRequest open(Exchange added) {
        return open.add(added);
    }

    /** Removes an exchange that is not reused. */
    void drop(Exchange exchange) {
        open.remove(exchange.inFlight());
    }
}
