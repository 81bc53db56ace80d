package io.waybill.worker.poll;

import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Workers of this process, for which a thread polls that has sent them a message. While it sends, such a thread keeps
 * to itself the rings for workers that sleep, and then polls in their place, so that no thread is woken.
 *
 * <p><b>Threads.</b> Any; the rings that a thread keeps are its own.
 */
public final class NeighbourRings {

    private static final ThreadLocal<Kept> KEPT = new ThreadLocal<>();
    /**
     * Max polls of a thread for its neighbours, two of which could otherwise occupy it for as long as they send each
     * other messages.
     */
    private static final int MAX_POLLS = 16;

    private final Map<Path, Neighbour> neighbours = new ConcurrentHashMap<>(); // keyed by directory

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

    /** Runs an action that sends messages, and then polls for the neighbours that it rang. */
    public void sendAndPoll(Runnable sends) {
        if (KEPT.get() != null) { // the outer call polls for these as well
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

    /** Returns whether the calling thread keeps a ring for this worker, and polls for it afterwards. */
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

    /** Wakes the workers whose rings the calling thread keeps: it is about to wait, perhaps for them. */
    static void passOn() {
        Kept kept = KEPT.get();
        if (kept != null) {
            kept.wakeAll();
        }
    }
}
