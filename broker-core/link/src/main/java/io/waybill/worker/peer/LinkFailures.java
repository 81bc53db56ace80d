package io.waybill.worker.peer;

import io.waybill.home.Members;
import io.waybill.home.Peer;
import io.waybill.home.ReadProblem;
import java.util.HashMap;
import java.util.Map;

/**
 * Reasons why there is no link to peers that could not be read, and the times of the next attempts.
 *
 * <p><b>Threads.</b> Guarded by the lock of {@link Links}.
 */
final class LinkFailures {

    private static final long RETRY_NS = 500_000_000;

    private final Map<Integer, Failure> byId = new HashMap<>();

    /** @param retryAtNs on the monotonic clock */
    private record Failure(long epoch, ReadProblem problem, long retryAtNs) {}

    boolean isEmpty() {
        return byId.isEmpty();
    }

    /** Notes that a link became unreadable. */
    void unreadable(Peer peer, long nowNs) {
        failed(peer, ReadProblem.NONE, nowNs);
    }

    /** Notes that no link could be created. Returns whether the problem differs from the previous one. */
    boolean failed(Peer peer, ReadProblem problem, long nowNs) {
        Failure last = byId.put(peer.id(), new Failure(peer.epoch(), problem, nowNs + RETRY_NS));
        return last == null || !last.problem().equals(problem);
    }

    void linked(Peer peer) {
        byId.remove(peer.id());
    }

    /** Removes workers that are gone, to which no link is created again. */
    void retain(Members members) {
        byId.keySet()
                .removeIf(id ->
                        members.find(id).filter(peer -> peer.state().isThere()).isEmpty());
    }

    /**
     * Returns whether to retry a peer that could not be read: not at every refresh, unless it is another incarnation.
     */
    boolean mayTry(Peer peer, long nowNs) {
        Failure last = of(peer);
        return last == null || nowNs - last.retryAtNs() >= 0;
    }

    /**
     * Returns the reason why no link could be created to this incarnation; {@link ReadProblem#NONE} when that is not
     * known.
     */
    ReadProblem problem(Peer peer) {
        Failure last = of(peer);
        return last == null ? ReadProblem.NONE : last.problem();
    }

    private Failure of(Peer peer) {
        Failure last = byId.get(peer.id());
        return last != null && last.epoch() == peer.epoch() ? last : null;
    }
}
