package io.waybill.conformance.worker;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Gates at which operations wait until a step opens them, so that a case needs no sleeping.
 *
 * <p><b>Threads.</b> Thread-safe. Waiting operations continue in the thread that opens.
 */
final class Gates {

    /** A gate; its permits count the calls that reached it. */
    private static final class Gate {
        private final CompletableFuture<Void> opened = new CompletableFuture<>();
        private final Semaphore reached = new Semaphore(0);
    }

    private final Map<String, Gate> gates = new ConcurrentHashMap<>();

    private Gate gate(String name) {
        return gates.computeIfAbsent(name, key -> new Gate());
    }

    /** Counts a call that reached a gate. The future completes when the gate is open. */
    CompletableFuture<Void> reach(String name) {
        gate(name).reached.release();
        return gate(name).opened;
    }

    void open(String name) {
        gate(name).opened.complete(null);
    }

    /** Waits until a number of calls reached the gate. Returns how many did. */
    int awaitReached(String name, int count, Duration limit) {
        Semaphore reached = gate(name).reached;
        try {
            if (reached.tryAcquire(count, limit.toNanos(), TimeUnit.NANOSECONDS)) {
                reached.release(count);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return reached.availablePermits();
    }

    /** Opens and forgets all. */
    void reset() {
        for (String name : List.copyOf(gates.keySet())) {
            gates.remove(name).opened.complete(null);
        }
    }
}
