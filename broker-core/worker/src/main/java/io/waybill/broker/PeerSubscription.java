package io.waybill.broker;

import io.waybill.api.broker.Incarnation;
import io.waybill.api.broker.PeerListener;
import io.waybill.api.broker.Subscription;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * Subscription of a listener, with the workers as it was last notified of them. Compares these with the present workers
 * when a thread is free for it, so that a slow or stuck listener costs no memory for changes.
 *
 * <p><b>Threads.</b> Thread-safe; the listener is called by one thread at a time.
 */
final class PeerSubscription implements Subscription {

    /** Min number of workers that left and are remembered: one that comes back has restarted. */
    private static final int MAX_DEPARTED = 1_000;

    private final Brokers shared;
    private final OwnerThreads threads;
    private final Consumer<PeerSubscription> endListener;
    private final AtomicBoolean running = new AtomicBoolean();
    private final Map<Integer, Known> known = new HashMap<>(); // by the thread that runs
    private volatile boolean changed;
    private volatile PeerListener listener; // null once it is closed

    /** Worker as the listener was last notified of it. */
    private record Known(Incarnation incarnation, boolean there) {}

    PeerSubscription(
            PeerListener listener, Brokers shared, OwnerThreads threads, Consumer<PeerSubscription> endListener) {
        this.listener = listener;
        this.shared = shared;
        this.threads = threads;
        this.endListener = endListener;
    }

    /** Notes that the workers may have changed. */
    void changed() {
        changed = true;
        resume();
    }

    /** Begins the comparison, unless it runs or nothing has changed. */
    void resume() {
        if (changed && listener != null && running.compareAndSet(false, true) && !threads.run(this::deliver)) {
            running.set(false); // no thread is free: repeated at a later scan
        }
    }

    private void deliver() {
        try {
            while (changed && listener != null) {
                changed = false;
                try {
                    compare(shared.backend().peers());
                } catch (RuntimeException | Error e) { // of the worker's code: the next scan compares again
                    changed = true;
                    throw e;
                }
            }
        } finally {
            running.set(false);
        }
        resume(); // for a change since the last comparison
    }

    private void compare(List<Peer> peers) {
        Set<Integer> listed = new HashSet<>();
        for (Peer peer : peers) {
            listed.add(peer.id());
            if (!shared.isSelf(peer) && peer.state() != PeerState.UNREADABLE) {
                compare(peer);
            }
        }
        List<Integer> departed =
                known.keySet().stream().filter(id -> !listed.contains(id)).toList();
        departed.forEach(this::departed);
        if (departed.size() > MAX_DEPARTED) {
            known.values().removeIf(before -> !before.there);
        }
    }

    /** Handles a worker that is not listed any more: it has left, or was removed. */
    private void departed(int id) {
        Known before = known.get(id);
        if (!before.there) {
            return;
        }
        Optional<Peer> now = shared.backend().peer(id).filter(peer -> peer.state() != PeerState.UNREADABLE);
        now.ifPresent(this::compare);
        if (now.isEmpty()) {
            known.remove(id);
            notify("lost", each -> each.lost(before.incarnation));
        }
    }

    private void compare(Peer peer) {
        Known seen = known.get(peer.id());
        // otherwise it was removed, and its id given again
        boolean isSame = seen != null && seen.incarnation.worker().name().equals(peer.name());
        Known before = isSame ? seen : null;
        boolean there = peer.state().isThere();
        if (before == null && !there) {
            return; // it was gone before this listener began
        }
        Incarnation now = Brokers.incarnationOf(peer);
        known.put(peer.id(), new Known(now, there));
        if (before == null) {
            notify("joined", each -> each.joined(now));
        } else if (there && !now.equals(before.incarnation)) {
            notify("restarted", each -> each.restarted(now, before.incarnation));
        } else if (there && !before.there) {
            notify("joined", each -> each.joined(now)); // it was taken for dead
        } else if (!there && before.there && peer.state() == PeerState.LEFT) {
            notify("left", each -> each.left(now));
        } else if (!there && before.there) {
            notify("lost", each -> each.lost(now));
        }
    }

    private void notify(String what, Consumer<PeerListener> event) {
        PeerListener notified = listener;
        if (notified != null) {
            threads.call("PeerListener." + what, notified, () -> event.accept(notified));
        }
    }

    @Override
    public void close() {
        listener = null;
        endListener.accept(this);
    }
}
