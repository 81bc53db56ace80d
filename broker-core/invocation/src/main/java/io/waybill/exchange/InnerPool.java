package io.waybill.exchange;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.agrona.concurrent.ManyToManyConcurrentArrayQueue;

/**
 * Pool of requests, and the source of their numbers. Each thread keeps the request that it used last, so that most
 * dispatches need nothing that threads share.
 *
 * <p><b>Threads.</b> Any.
 */
final class InnerPool {

    private static final int SIZE = 256;
    private static final int LARGEST_BYTES = 1 << 20;
    private static final int LARGEST_SPARE_BYTES = 1 << 16; // each thread may have one
    /** Count of numbers that a request takes at once. */
    private static final long BLOCK = 1 << 20;

    private final Supplier<InnerRequest> creation;
    private final ManyToManyConcurrentArrayQueue<InnerRequest> free = new ManyToManyConcurrentArrayQueue<>(SIZE);
    private final AtomicLong blocks = new AtomicLong();

    InnerPool(Supplier<InnerRequest> creation) {
        this.creation = creation;
    }

    /**
     * Takes a request for use.
     *
     * @param stack of the calling thread
     */
    InnerRequest take(HandlerStack stack) {
        InnerRequest spare = (InnerRequest) stack.takeSpare(); // of this worker, like the stack
        InnerRequest taken = spare == null ? free.poll() : spare;
        return taken == null ? creation.get() : taken;
    }

    /**
     * Takes an ended request back into the pool.
     *
     * @param stack of the calling thread
     */
    void give(InnerRequest ended, HandlerStack stack) {
        ended.forget();
        if (ended.memoryBytes() > LARGEST_SPARE_BYTES || !stack.keepSpare(ended)) {
            offer(ended);
        }
    }

    void give(InnerRequest ended) {
        ended.forget();
        offer(ended);
    }

    private void offer(InnerRequest ended) {
        if (ended.memoryBytes() <= LARGEST_BYTES) {
            free.offer(ended); // a full pool drops it
        }
    }

    /**
     * Returns a number above 0 that no use of a request of this worker has had.
     *
     * @param last previous number of the same object; 0 for none
     */
    long number(long last) {
        long next = last + 1;
        return last != 0 && next % BLOCK != 0 ? next : blocks.incrementAndGet() * BLOCK;
    }
}
