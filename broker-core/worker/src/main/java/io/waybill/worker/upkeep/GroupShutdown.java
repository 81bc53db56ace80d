package io.waybill.worker.upkeep;

import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import io.waybill.home.WorkerDirectory;
import io.waybill.host.Host;
import io.waybill.worker.call.PendingCalls;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.poll.WaitingCallers;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * Joint shutdown of several workers: each waits until all of them have requested it, and nothing is in flight among
 * them.
 *
 * <p>Each worker publishes in its record an interval in which it was idle: no call of its own without an outcome, no
 * request with a handler, no running listener, and none of these begun meanwhile. All use the host's one clock. If the
 * intervals of all workers overlap, nothing was in flight anywhere, because a request between two workers is a pending
 * call of its sender. A worker that has seen this publishes that it has ended, since later steps, such as releasing
 * references, are new work for the others.
 *
 * <p><b>Threads.</b> One at a time.
 */
public final class GroupShutdown {

    private static final long LOOK_NS = 20_000_000;
    /** Interval of publishing: the others read all records of the home whenever one is written. */
    private static final long SHOW_NS = 100_000_000;

    private final WorkerDirectory directory;
    private final Host host;
    private final WaitingCallers waits;
    private final PendingCalls pending;
    private final HandlerRegistry registry;
    private final WorkerCounters counters;
    private IdleInterval own = IdleInterval.BUSY;
    private long activity;
    private IdleInterval shown; // null until an interval is shown
    private long shownAtNs;

    public GroupShutdown(UpkeepContext context) {
        this.directory = context.directory();
        this.host = context.host();
        this.waits = context.waiting();
        this.pending = context.pending();
        this.registry = context.registry();
        this.counters = context.counters();
    }

    /**
     * Waits until the work of this worker and the others has ended.
     *
     * @param others names or ids; its own is ignored
     * @return description of the work that had not ended at the limit; empty when all has ended
     */
    public synchronized String await(Collection<String> others, Duration limit) {
        waits.requireMayBlock();
        long untilNs = host.clock().monotonicNs() + limit.toNanos();
        own = IdleInterval.BUSY;
        shown = null;
        try (Membership membership = Membership.present(directory.home())) {
            while (true) {
                look();
                membership.refresh();
                List<String> left = left(membership, others);
                if (left.isEmpty()) {
                    directory.show(IdleInterval.SHOWN, IdleInterval.ENDED);
                    return "";
                }
                if (host.clock().monotonicNs() - untilNs >= 0
                        || Thread.currentThread().isInterrupted()) {
                    return "Timed out waiting for the work of " + String.join(", ", left) + " to end.";
                }
                host.threads().pause(LOOK_NS);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the other workers can't be seen", e);
        }
    }

    /** Returns whether the work of the group has ended. Any thread. */
    public boolean hasEnded() {
        return IdleInterval.ENDED.equals(directory.record().settings().get(IdleInterval.SHOWN));
    }

    private void look() throws IOException {
        if (!waits.whileNotPolling(this::lookAtOwn)) {
            own = IdleInterval.BUSY;
        }
        long nowNs = host.clock().monotonicNs();
        boolean turned = shown == null || own.equals(IdleInterval.BUSY) != shown.equals(IdleInterval.BUSY);
        if (turned || !own.equals(shown) && nowNs - shownAtNs >= SHOW_NS) {
            directory.show(IdleInterval.SHOWN, own.text());
            shown = own;
            shownAtNs = nowNs;
        }
    }

    private void lookAtOwn() {
        long nowNs = host.clock().bootNs();
        long activityNow = counters.callsSent() + counters.requestsBegun();
        if (pending.size() > 0 || isServing()) {
            own = IdleInterval.BUSY;
        } else if (own == IdleInterval.BUSY || activityNow != activity) {
            own = new IdleInterval(nowNs, nowNs);
        } else {
            own = new IdleInterval(own.sinceNs(), nowNs);
        }
        activity = activityNow;
    }

    private boolean isServing() {
        for (HandlerStatus handler : registry.statuses()) {
            if (handler.inFlight() > 0 || handler.parked() > 0) {
                return true;
            }
        }
        return false;
    }

    /**
     * Returns the workers that have not ended: workers that are busy, or else workers whose idle intervals are too
     * short.
     */
    private List<String> left(Membership members, Collection<String> others) throws IOException {
        Map<String, IdleInterval> times = new LinkedHashMap<>();
        times.put(directory.name(), own);
        for (String other : others) {
            Optional<Peer> peer = members.findByNameOrId(other);
            if (peer.isEmpty() || peer.get().id() != directory.id() && !hasEnded(peer.get())) {
                times.put(other, peer.map(GroupShutdown::shown).orElse(IdleInterval.BUSY));
            }
        }
        List<String> busy = where(times, IdleInterval.BUSY::equals);
        long sinceNs =
                times.values().stream().mapToLong(IdleInterval::sinceNs).max().orElseThrow();
        return busy.isEmpty() ? where(times, time -> time.untilNs() < sinceNs) : busy;
    }

    private static List<String> where(Map<String, IdleInterval> times, Predicate<IdleInterval> wanted) {
        return times.entrySet().stream()
                .filter(entry -> wanted.test(entry.getValue()))
                .map(Map.Entry::getKey)
                .toList();
    }

    private static boolean hasEnded(Peer peer) {
        return peer.state() == PeerState.LEFT
                || peer.state() == PeerState.DEAD
                || IdleInterval.ENDED.equals(text(peer));
    }

    private static IdleInterval shown(Peer peer) {
        return IdleInterval.of(text(peer));
    }

    private static String text(Peer peer) {
        return peer.record()
                .map(record -> record.settings().getOrDefault(IdleInterval.SHOWN, ""))
                .orElse("");
    }
}
