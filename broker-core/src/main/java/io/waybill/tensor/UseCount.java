package io.waybill.tensor;

import java.util.concurrent.atomic.AtomicInteger;

/** How many hold a storage. Starts at one. Thread-safe. */
final class UseCount {

    private final AtomicInteger count = new AtomicInteger(1);

    boolean isLive() {
        return count.get() > 0;
    }

    void require() {
        if (count.get() <= 0) {
            throw new IllegalStateException("the storage is released: its last count was given back");
        }
    }

    void retain() {
        int seen;
        do {
            seen = count.get();
            if (seen <= 0) {
                throw new IllegalStateException("the storage is released and can't be retained");
            }
        } while (!count.compareAndSet(seen, seen + 1));
    }

    /** True for the last one. */
    boolean release() {
        int seen;
        do {
            seen = count.get();
            if (seen <= 0) {
                throw new IllegalStateException("the storage is released: no count is left to give back");
            }
        } while (!count.compareAndSet(seen, seen - 1));
        return seen == 1;
    }
}
