package io.waybill.tensor.memory;

import io.waybill.api.device.MappedSegment;
import io.waybill.api.device.MappingListener;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;

/**
 * Segments that are mapped into this process, and the listeners that are notified of them. Without listeners a segment
 * is unmapped by the thread that asks for it. Otherwise the last listener that was notified unmaps it, on its own
 * thread.
 *
 * <p><b>Threads.</b> Thread-safe. The lock is held for list operations only, never in a listener.
 */
public final class MappedSegments {

    /** Max time that an unmapping, or the end of a listener, waits for a listener. */
    public static final long LIMIT_NS = 5_000_000_000L;

    private static final long LOOK_NS = 1_000_000;

    private final String worker;
    private final Threads threads;
    private final Clock clock;
    private final Object lock = new Object();
    private final Set<Mapped> present = new LinkedHashSet<>(); // guarded by lock
    private final List<ListenerQueue> listeners = new ArrayList<>(); // guarded by lock
    private final Set<ListenerQueue> active = new HashSet<>(); // guarded by lock; also the leaving ones

    /**
     * Creates an object without segments and listeners.
     *
     * @param worker prefix of the threads' names
     */
    public MappedSegments(String worker, Threads threads, Clock clock) {
        this.worker = worker;
        this.threads = threads;
        this.clock = clock;
    }

    /** Registration of a listener, which is notified until it is closed. */
    public interface Registration {

        /**
         * Notifies the listener of the end of each segment that it knows, and waits for it, up to {@link #LIMIT_NS},
         * unless this is called by the listener itself.
         */
        void close();
    }

    /** Segment while it is mapped. Its state is guarded by the lock. */
    public static final class Mapped {
        final MappedSegment segment;
        final Set<ListenerQueue> holders = new HashSet<>(2); // listeners that are to be notified of its end
        Runnable free; // null until it is to be unmapped

        Mapped(MappedSegment segment) {
            this.segment = segment;
        }

        /** Returns how to unmap it, if that was asked for and no listener holds it; null otherwise. */
        Runnable released(ListenerQueue by) {
            return holders.remove(by) && holders.isEmpty() ? free : null;
        }
    }

    /** Reports a segment that was mapped. The caller ends it with {@link #unmap}. */
    public Mapped mapped(MappedSegment segment) {
        Mapped mapped = new Mapped(segment);
        synchronized (lock) {
            present.add(mapped);
            for (ListenerQueue listener : listeners) {
                listener.begin(mapped);
            }
        }
        return mapped;
    }

    /**
     * Unmaps a segment when all listeners have been notified: at once when there are none, otherwise later.
     *
     * @param free unmaps it
     */
    public void unmap(Mapped mapped, Runnable free) {
        synchronized (lock) {
            present.remove(mapped);
            if (!mapped.holders.isEmpty()) {
                mapped.free = free;
                mapped.holders.forEach(listener -> listener.end(mapped));
                return;
            }
        }
        free.run();
    }

    /**
     * Adds a listener, which is notified of the segments that are mapped, and of all that will be.
     *
     * @param name name of the listener, in texts
     * @param failures receiver of a text for each failure of the listener, with its exception, or null when it threw
     * none
     */
    public Registration listen(String name, MappingListener listener, BiConsumer<String, Throwable> failures) {
        ListenerQueue queue = new ListenerQueue(this, name, listener, failures);
        synchronized (lock) {
            listeners.add(queue);
            active.add(queue);
            present.forEach(queue::begin);
        }
        return () -> {
            leave(queue);
            await(queue);
        };
    }

    private void leave(ListenerQueue queue) {
        synchronized (lock) {
            listeners.remove(queue);
            queue.leave(present);
        }
    }

    private void await(ListenerQueue queue) {
        if (queue.isOwnThread()) {
            return; // the listener has to return first
        }
        long untilNs = clock.monotonicNs() + LIMIT_NS;
        boolean interrupted = false;
        while (!queue.hasEnded() && clock.monotonicNs() - untilNs < 0) {
            threads.pause(LOOK_NS);
            interrupted |= Thread.interrupted(); // a wait that has a limit continues
        }
        if (!queue.hasEnded()) {
            queue.giveUp("the end of its segments");
        }
        ended(queue);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Abandons listeners that do not return. To be called at intervals. */
    public void look() {
        List<ListenerQueue> looked;
        synchronized (lock) {
            if (active.isEmpty()) {
                return;
            }
            looked = List.copyOf(active);
        }
        long nowNs = clock.monotonicNs();
        looked.forEach(queue -> queue.look(nowNs));
    }

    /** Ends all listeners. */
    public void close() {
        List<ListenerQueue> left;
        synchronized (lock) {
            left = List.copyOf(active);
        }
        left.forEach(this::leave);
        left.forEach(this::await);
    }

    /** Forgets a listener that has ended or was abandoned. */
    void ended(ListenerQueue queue) {
        synchronized (lock) {
            listeners.remove(queue);
            active.remove(queue);
        }
    }

    Object lock() {
        return lock;
    }

    void start(Runnable body) {
        threads.startWhenPossible(worker + "-mappings", body);
    }

    long nowNs() {
        return clock.monotonicNs();
    }
}
