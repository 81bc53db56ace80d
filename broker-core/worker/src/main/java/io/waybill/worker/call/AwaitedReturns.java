package io.waybill.worker.call;

import io.waybill.home.Succession;
import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.PeerLink;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/**
 * Ended incarnations of peers with calls that a later incarnation may respond to, until it does, or until the return
 * limit has passed: for calls that may be run again, the limit of this worker; for calls that the peer had not begun
 * when it left in order, the limit of the peer.
 *
 * <p>Belongs to the holder of the {@link io.waybill.worker.poll.PollPermit}.
 */
public final class AwaitedReturns {

    private static final long LOOK_NS = 10_000_000;

    /** Callback for an incarnation whose calls are to be failed. */
    @FunctionalInterface
    interface Ending {
        void end(PeerLink link);
    }

    private static final class Awaited {
        private final PeerLink link;
        private PeerLink last; // the last incarnation that continues it; itself until there is one
        private boolean maySucceed; // whether calls wait for an incarnation that continues it
        private long untilNs; // deadline of calls that any later incarnation may run
        private boolean returned;

        Awaited(PeerLink link, long untilNs) {
            this.link = link;
            this.last = link;
            this.maySucceed = link.mayBeSucceeded();
            this.untilNs = untilNs;
        }
    }

    private final Links links;
    private final long limitNs;
    private final List<Awaited> all = new ArrayList<>();
    private long nextLookNs;

    AwaitedReturns(Links links, Duration limit) {
        this.links = links;
        this.limitNs = limit.toNanos();
    }

    boolean isEmpty() {
        return all.isEmpty();
    }

    /** Adds an ended incarnation with calls that another one may respond to. */
    void await(PeerLink ended, long nowNs) {
        all.add(new Awaited(ended, nowNs + limitNs));
        links.awaits(ended.id(), true);
        nextLookNs = nowNs;
    }

    /** Returns the time at which to check again. */
    long nextNs() {
        long nextNs = Long.MAX_VALUE;
        for (Awaited awaited : all) {
            nextNs = Math.min(nextNs, awaited.maySucceed ? nextLookNs : Math.max(nextLookNs, awaited.untilNs));
        }
        return nextNs;
    }

    /**
     * Fails the calls to peers that did not return in time.
     *
     * @param ending for all calls of an incarnation
     * @param leaving for calls that the peer had left to a successor
     */
    void look(long nowNs, Ending ending, Ending leaving) {
        if (nowNs < nextLookNs) {
            return;
        }
        nextLookNs = nowNs + LOOK_NS;
        for (Iterator<Awaited> each = all.iterator(); each.hasNext(); ) {
            Awaited awaited = each.next();
            if (!awaited.link.flow().expectsResponses()) {
                remove(each, awaited);
                continue;
            }
            if (awaited.maySucceed && !isContinued(awaited, nowNs)) {
                awaited.maySucceed = false;
                leaving.end(awaited.link);
            }
            boolean isThere = hasReturned(awaited.link);
            if (awaited.returned && !isThere) { // and has ended again
                awaited.untilNs = nowNs + limitNs;
            }
            awaited.returned = isThere;
            if (!isThere && !awaited.maySucceed && nowNs >= awaited.untilNs) {
                remove(each, awaited);
                ending.end(awaited.link);
            }
        }
    }

    private void remove(Iterator<Awaited> at, Awaited awaited) {
        at.remove();
        boolean isOther = all.stream().anyMatch(each -> each.link.id() == awaited.link.id());
        if (!isOther) {
            links.awaits(awaited.link.id(), false);
        }
    }

    /** Returns whether a successor runs the requests that the peer had left, or may still come. */
    private boolean isContinued(Awaited awaited, long nowNs) {
        PeerLink next = after(awaited.last);
        while (next != null) {
            if (!next.continues(awaited.link)) {
                return false;
            }
            awaited.last = next;
            next = after(next);
        }
        PeerLink last = awaited.last;
        if (last.condition() == PeerLink.Condition.OPEN) {
            return true;
        }
        return last.mayBeSucceeded()
                && (nowNs <= last.succeededUntilNs() + Succession.GRACE_NS || isSucceeded(awaited, nowNs));
    }

    /** Returns whether a successor has shown itself that is not linked yet. */
    private boolean isSucceeded(Awaited awaited, long nowNs) {
        return links.peerNow(awaited.last.id(), awaited.last.name())
                .filter(peer -> peer.epoch() > awaited.last.epoch() && peer.firstEpoch() <= awaited.link.epoch())
                .filter(peer -> peer.state().isThere() || nowNs <= peer.succeededUntilNs() + Succession.GRACE_NS)
                .isPresent();
    }

    /** Returns the link to the next incarnation of a peer; null when there is none. */
    private PeerLink after(PeerLink ended) {
        PeerLink next = null;
        for (PeerLink link : links.current()) {
            if (link.id() == ended.id()
                    && link.epoch() > ended.epoch()
                    && (next == null || link.epoch() < next.epoch())) {
                next = link;
            }
        }
        return next;
    }

    /** Returns the max time that a peer may take to return. */
    long limitNs() {
        return limitNs;
    }

    private boolean hasReturned(PeerLink ended) {
        for (PeerLink link : links.current()) {
            if (link.id() == ended.id()
                    && link.epoch() > ended.epoch()
                    && link.condition() == PeerLink.Condition.OPEN) {
                return true;
            }
        }
        return false;
    }
}
