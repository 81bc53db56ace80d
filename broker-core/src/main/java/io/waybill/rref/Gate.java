package io.waybill.rref;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The one lock of a worker's references, and what is to be done once it is free.
 *
 * <p>References are reached by threads of every kind (a program's, a bundle's, the poller), each for a step or two over a few maps. One
 * lock keeps these steps whole; no foreign code is called under it. Sending, answering, closing a value and telling a listener are put off with
 * {@link #later} and happen on the same thread after the lock is free.
 */
public final class Gate {
    private final ReentrantLock lock = new ReentrantLock();
    private List<Runnable> later = new ArrayList<>();
    private Runnable atLeaving = () -> {};
    private boolean closed;

    /** What is looked at under the lock whenever something may have changed. */
    void atLeaving(Runnable look) {
        atLeaving = look;
    }

    /** From now on {@link #requireOpen} throws. Only under the lock. */
    void close() {
        closed = true;
    }

    boolean isClosed() {
        return closed;
    }

    /** @throws io.waybill.api.CallException when this worker's references have ended */
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

    /** Frees the lock, and does what was put off. */
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

    /** Puts something off until the lock is free. Only under the lock. */
    void later(Runnable action) {
        later.add(action);
    }

    /** Does something under the lock. */
    void run(Runnable step) {
        enter();
        try {
            step.run();
        } finally {
            leave();
        }
    }
}
