package io.waybill.worker.poll;

import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Workers of this process that threads poll for which have sent them something. Such a thread keeps the rings at those that sleep to itself while it sends, and polls in
 * their place afterwards, so that no thread is woken.
 *
 * <p><b>Threads.</b> Any; what a thread keeps is its own.
 */
public final class NeighbourRings {

    private static final ThreadLocal<Kept> KEPT = new ThreadLocal<>();
    /** Two neighbours could keep a thread for as long as they send each other messages. */
    private static final int MAX_POLLS = 16;

    private final Map<Path, Neighbour> neighbours = new ConcurrentHashMap<>(); // by their directories

    /** One worker, as others of its process see it. */
    private record Neighbour(WaitingCallers callers, Poller poller) {}

    /** The rings that one thread keeps. */
    private static final class Kept {
        private final Map<Path, Neighbour> neighbours;
        private final ArrayDeque<Neighbour> rung = new ArrayDeque<>();

        Kept(Map<Path, Neighbour> neighbours) {
            this.neighbours = neighbours;
        }

        void pollForAll() {
            for (int polls = 0; !rung.isEmpty(); polls++) {
                Neighbour next = rung.remove();
                if (polls >= MAX_POLLS || !next.callers.pollInPlace()) {
                    next.poller.wake();
                }
            }
        }

        void wakeAll() {
            while (!rung.isEmpty()) {
                rung.remove().poller.wake();
            }
        }
    }

    /** Adds a worker that has joined. */
    public void add(Path directory, WaitingCallers callers, Poller poller) {
        neighbours.put(directory, new Neighbour(callers, poller));
    }

    /** Removes a worker that is about to leave, unless another one has its directory already. */
    public void remove(Path directory, WaitingCallers callers) {
        neighbours.computeIfPresent(directory, (path, each) -> each.callers == callers ? null : each);
    }

    /** Runs what sends messages, and then polls for the neighbours that were rung at. */
    public void sendAndPoll(Runnable sends) {
        if (KEPT.get() != null) { // the one that it is inside of polls for these as well
            sends.run();
            return;
        }
        Kept kept = new Kept(neighbours);
        KEPT.set(kept);
        try {
            sends.run();
        } finally {
            try {
                kept.pollForAll();
            } finally {
                KEPT.remove();
                kept.wakeAll();
            }
        }
    }

    /** Returns whether the calling thread keeps a ring at this worker, and polls for it soon. */
    public static boolean keeps(Path directory) {
        Kept kept = KEPT.get();
        Neighbour neighbour = kept == null ? null : kept.neighbours.get(directory);
        if (neighbour == null) {
            return false;
        }
        if (!kept.rung.contains(neighbour)) {
            kept.rung.add(neighbour);
        }
        return true;
    }

    /** Wakes those whose rings the calling thread keeps: it is about to wait, maybe for them. */
    static void passOn() {
        Kept kept = KEPT.get();
        if (kept != null) {
            kept.wakeAll();
        }
    }
}
