package io.waybill.worker.metrics;

import java.util.concurrent.atomic.AtomicLong;

/** Counter with one writer at a time, under a lock or permit of its owner; any thread reads it. */
final class SingleWriterCounter {

    private final AtomicLong count = new AtomicLong(); // not a VarHandle, which takes seven calls in an interpreter

    void increment() {
        add(1);
    }

    void add(long more) {
        count.lazySet(count.get() + more);
    }

    void raiseTo(long value) {
        if (value > count.get()) {
            count.lazySet(value);
        }
    }

    long sum() {
        return count.get();
    }
}
