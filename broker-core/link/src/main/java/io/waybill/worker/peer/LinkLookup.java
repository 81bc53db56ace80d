package io.waybill.worker.peer;

import io.waybill.api.ErrorCode;
import io.waybill.api.WorkerInfo;
import io.waybill.home.Peer;
import io.waybill.host.Clock;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import java.io.IOException;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * Finds the link to the receiver of a call, and waits while that worker is starting, unless the thread must not wait.
 *
 * <p><b>Threads.</b> Any.
 */
public final class LinkLookup {

    private final Links links;
    private final Clock clock;
    private final Threads threads;
    private final BooleanSupplier mayBlock;

    /**
     * @param mayBlock whether the calling thread may wait
     */
    public LinkLookup(Links links, Host host, BooleanSupplier mayBlock) {
        this.links = links;
        this.clock = host.clock();
        this.threads = host.threads();
        this.mayBlock = mayBlock;
    }

    /**
     * Returns the link to the receiver of a call.
     *
     * @param deadlineNs end of the wait for a worker that is starting, on CLOCK_BOOTTIME; 0 to wait indefinitely
     * @param mayWait whether to wait also for the successor of a worker that has left in order
     * @throws io.waybill.api.CallException when there is no such worker, it has ended, or its files can't be used; when
     *     it is starting, and this thread must not wait
     */
    public PeerLink require(String to, long deadlineNs, boolean mayWait) {
        PeerLink link = links.named(to);
        if (link == null || mayWait && link.mayBeSucceeded()) {
            link = search(to, deadlineNs, mayWait);
        }
        return link.isOutlived() ? next(link, to, deadlineNs, mayWait) : link;
    }

    /**
     * Returns the link to the worker with this id, even if the id is another worker's name.
     *
     * @param deadlineNs end of the wait for a worker that is starting, on CLOCK_BOOTTIME; 0 to wait indefinitely
     * @throws io.waybill.api.CallException when there is no such worker, it has ended, or its files can't be used; when
     *     it is starting, and this thread must not wait
     */
    public PeerLink require(int id, long deadlineNs) {
        return require(WorkerInfo.address(id), deadlineNs, false);
    }

    /** Returns the link to the peer's next incarnation, if that exists. */
    private PeerLink next(PeerLink link, String to, long deadlineNs, boolean mayWait) {
        long claimed = link.claimedEpoch();
        try {
            links.refresh();
        } catch (IOException e) {
            throw CallErrors.homeUnreadable(e);
        }
        link.lookedFor(claimed);
        return search(to, deadlineNs, mayWait);
    }

    private PeerLink search(String to, long deadlineNs, boolean mayWait) {
        long sinceNs = clock.bootNs();
        while (true) {
            Optional<PeerLink> found = find(to, mayWait);
            if (found.isPresent()) {
                return found.get();
            }
            Peer peer = links.look(to, mayWait);
            found = find(to, mayWait);
            if (found.isPresent()) {
                return found.get();
            }
            if (deadlineNs != 0 && clock.bootNs() >= deadlineNs) {
                throw CallErrors.timedOutAway(peer, deadlineNs - sinceNs);
            }
            if (!mayBlock.getAsBoolean()) {
                throw CallErrors.refused(
                        ErrorCode.BACK_PRESSURE,
                        "worker " + peer.name() + CallErrors.away(peer) + ", and this thread must not wait for it");
            }
            threads.pause(2_000_000);
            if (Thread.currentThread().isInterrupted()) {
                throw CallErrors.refused(
                        ErrorCode.CLOSED, "interrupted while worker " + peer.name() + CallErrors.away(peer));
            }
        }
    }

    /** Returns the link to a worker; with {@code mayWait}, not to an incarnation that may be succeeded. */
    private Optional<PeerLink> find(String to, boolean mayWait) {
        return links.find(to).filter(link -> !mayWait || !link.mayBeSucceeded());
    }
}
