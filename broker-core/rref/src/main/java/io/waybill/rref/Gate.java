package io.waybill.rref;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Lock of a worker's references, with the actions that are deferred until it is free.
 *
 * <p>References are used by all kinds of threads (a program's, a bundle's, the poller), each for a few map operations.
 * One lock makes these atomic; no foreign code is called under it. Sending, responding, closing a value and calling a
 * listener are deferred with {@link #later} and run on the same thread after it releases the lock.
 */
public final class Gate {
    private final ReentrantLock lock = new ReentrantLock();
    private List<Runnable> later = new ArrayList<>();
    private Runnable atLeaving = () -> {};
    private boolean closed;

    /** Registers a check that runs under the lock whenever the state may have changed. */
    void atLeaving(Runnable look) {
        atLeaving = look;
    }

    /** Closes the gate: {@link #requireOpen} throws from now on. Only under the lock. */
    void close() {
        closed = true;
    }

    boolean isClosed() {
        return closed;
    }

    /**
     * Throws when the gate is closed.
     *
     * @throws io.waybill.api.CallException when this worker's references have ended
     */
    void requireOpen() {
        if (closed) {
            throw RRefErrors.closed();
        }
    }

    void enter() {
        lock.lock();
        if (lock.getHoldCount() != 1) {
            lock.unlock();
            throw new IllegalStateException("called under the lock");
        }
    }

    /** Releases the lock, and runs the deferred actions. */
    void leave() {
        List<Runnable> todo = List.of();
        try {
            atLeaving.run();
            if (!later.isEmpty()) {
                todo = later;
                later = new ArrayList<>();
            }
        } finally {
            lock.unlock();
        }
        for (int i = 0; i < todo.size(); i++) {
            todo.get(i).run();
        }
    }

    /** Defers an action until the lock is free. Only under the lock. */
    void later(Runnable action) {
        later.add(action);
    }

    /** Runs a step under the lock. */
    void run(Runnable step) {
        enter();
        try {
            step.run();
        } finally {
            leave();
        }
    }
}
