package io.waybill.tensor.memory;

import java.util.concurrent.atomic.AtomicInteger;

/** Reference count of a storage. Starts at one. Thread-safe. */
public final class UseCount {

    private final AtomicInteger count = new AtomicInteger(1);

    public boolean isLive() {
        return count.get() > 0;
    }

    public void require() {
        if (count.get() <= 0) {
            throw new IllegalStateException("the storage is released: its last count was given back");
        }
    }

    public void retain() {
        int seen;
        do {
            seen = count.get();
            if (seen <= 0) {
                throw new IllegalStateException("the storage is released and can't be retained");
            }
        } while (!count.compareAndSet(seen, seen + 1));
    }

    /** Releases one count; returns true for the last one. */
    public boolean release() {
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
