package io.waybill.worker.serve;

import io.waybill.dispatch.HandlerEntry;
import io.waybill.exchange.HandlerCall;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.agrona.concurrent.ManyToManyConcurrentArrayQueue;

/** Pool of unused exchanges, with their buffers. Thread-safe. */
final class RequestPool {

    private static final int KEPT = 1024;
    /** Max size of a pooled buffer. */
    private static final int LARGEST_KEPT_BYTES = 1 << 20;

    private final ManyToManyConcurrentArrayQueue<PeerRequest> free = new ManyToManyConcurrentArrayQueue<>(KEPT);
    private final AtomicReference<PeerRequest> last = new AtomicReference<>(); // the most recently used
    private final Function<RequestPool, PeerRequest> maker;
    private final OpenRequests open;

    RequestPool(Function<RequestPool, PeerRequest> maker, OpenRequests open) {
        this.maker = maker;
        this.open = open;
    }

    PeerRequest take() {
        PeerRequest latest = last.getAndSet(null);
        if (latest != null) {
            return latest;
        }
        PeerRequest request = free.poll();
        return request != null ? request : maker.apply(this);
    }

    void give(PeerRequest request) {
        if (request.buffer().memory().capacity() <= LARGEST_KEPT_BYTES) {
            PeerRequest earlier = last.getAndSet(request);
            if (earlier != null && !free.offer(earlier)) {
                drop(earlier);
            }
        } else {
            drop(request);
        }
    }

    /** Returns the number of exchanges that are neither unused here nor dropped. */
    int held() {
        return open.slots() - free.size() - (last.get() == null ? 0 : 1);
    }

    /** Returns whether a request with this id is in flight. */
    boolean isOpen(long id) {
        return open.has(id);
    }

    /** Returns the handler of the request with this id; null when none is in flight. */
    HandlerEntry handlerOf(long id) {
        return open.handlerOf(id);
    }

    /** Creates the request slot of a new exchange. */
    OpenRequest open(HandlerCall added) {
        return open.add(added);
    }

    /** Removes an exchange that is not reused. */
    void drop(PeerRequest request) {
        open.remove(request.inFlight());
    }
}
