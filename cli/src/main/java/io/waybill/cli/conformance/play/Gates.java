package io.waybill.cli.conformance.play;

import io.waybill.host.Clock;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Where operations wait until a step lets them go on: so that a case needs no sleeping.
 *
 * <p><b>Threads.</b> Thread-safe. What waits goes on in the thread that opens.
 */
final class Gates {

    private static final long LOOK_MS = 50;

    /** Those that wait, and whether they need not. */
    private static final class Gate {
        private final List<Runnable> waiting = new ArrayList<>();
        private int reached;
        private boolean open;
    }

    private final Map<String, Gate> gates = new HashMap<>(); // guarded by this
    private final Clock clock;

    Gates(Clock clock) {
        this.clock = clock;
    }

    private Gate gate(String name) {
        return gates.computeIfAbsent(name, key -> new Gate());
    }

    /** Goes on now when the gate is open, else when it is opened. */
    void pass(String name, Runnable on) {
        synchronized (this) {
            Gate gate = gate(name);
            gate.reached++;
            notifyAll();
            if (!gate.open) {
                gate.waiting.add(on);
                return;
            }
        }
        on.run();
    }

    /** Waits in this thread until the gate is open. */
    synchronized void await(String name) {
        Gate gate = gate(name);
        gate.reached++;
        notifyAll();
        try {
            while (!gate.open) {
                wait(LOOK_MS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    void open(String name) {
        List<Runnable> waiting;
        synchronized (this) {
            Gate gate = gate(name);
            gate.open = true;
            waiting = List.copyOf(gate.waiting);
            gate.waiting.clear();
            notifyAll();
        }
        waiting.forEach(Runnable::run);
    }

    /** Waits until so many reached the gate. Returns how many did. */
    synchronized int awaitReached(String name, int count, long limitNs) {
        long untilNs = clock.monotonicNs() + limitNs;
        Gate gate = gate(name);
        try {
            while (gate.reached < count && clock.monotonicNs() < untilNs) {
                wait(LOOK_MS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return gate.reached;
    }

    /** Opens all, and forgets them. */
    void reset() {
        List<String> names;
        synchronized (this) {
            names = List.copyOf(gates.keySet());
        }
        names.forEach(this::open);
        synchronized (this) {
            names.forEach(gates::remove);
        }
    }
}
