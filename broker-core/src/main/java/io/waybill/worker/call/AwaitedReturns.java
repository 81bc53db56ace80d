package io.waybill.worker.call;

import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.PeerLink;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/**
 * Ended incarnations of peers with calls that a later incarnation may respond to, until it does, or until the return
 * limit has passed.
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
        private long untilNs;
        private boolean returned;

        Awaited(PeerLink link, long untilNs) {
            this.link = link;
            this.untilNs = untilNs;
        }
    }

    private final Links links;
    private final long limitNs;
    private final List<Awaited> all = new ArrayList<>();
    private long nextLookNs;

    public AwaitedReturns(Links links, Duration limit) {
        this.links = links;
        this.limitNs = limit.toNanos();
    }

    boolean isEmpty() {
        return all.isEmpty();
    }

    /**
     * Adds an ended incarnation with calls that another one may respond to. Returns the time by which the peer must
     * return.
     */
    long await(PeerLink ended, long nowNs) {
        Awaited awaited = new Awaited(ended, nowNs + limitNs);
        all.add(awaited);
        nextLookNs = nowNs;
        return awaited.untilNs;
    }

    /** Fails the calls to peers that did not return in time. */
    void look(long nowNs, Ending ending) {
        if (nowNs < nextLookNs) {
            return;
        }
        nextLookNs = nowNs + LOOK_NS;
        for (Iterator<Awaited> each = all.iterator(); each.hasNext(); ) {
            Awaited awaited = each.next();
            if (!awaited.link.flow().expectsResponses()) {
                each.remove();
                continue;
            }
            boolean isThere = hasReturned(awaited.link);
            if (awaited.returned && !isThere) { // and has ended again
                awaited.untilNs = nowNs + limitNs;
            }
            awaited.returned = isThere;
            if (!isThere && nowNs >= awaited.untilNs) {
                each.remove();
                ending.end(awaited.link);
            }
        }
    }

    /** Returns how long a peer may take to return. */
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
