package io.waybill.worker.metrics;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** Counter with one writer at a time, under a lock or permit of its owner; any thread reads it. */
final class SingleWriterCounter {

    private static final VarHandle COUNT;

    static {
        try {
            COUNT = MethodHandles.lookup().findVarHandle(SingleWriterCounter.class, "count", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    @SuppressWarnings("unused") // accessed through COUNT
    private long count;

    void increment() {
        COUNT.setOpaque(this, (long) COUNT.getOpaque(this) + 1);
    }

    long sum() {
        return (long) COUNT.getOpaque(this);
    }
}
