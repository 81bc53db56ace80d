package io.waybill.worker.call;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.host.Clock;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.peer.CallErrors;
import io.waybill.worker.peer.Overflow;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.poll.WaitingCallers;

/**
 * Decides about a call for which there is no room: it waits until its deadline, or is rejected.
 *
 * <p><b>Threads.</b> Any.
 */
final class Backpressure {

    private final Overflow overflow;
    private final WaitingCallers waits;
    private final Clock clock;
    private final WorkerCounters counters;

    Backpressure(Overflow overflow, WaitingCallers waits, Clock clock, WorkerCounters counters) {
        this.overflow = overflow;
        this.waits = waits;
        this.clock = clock;
        this.counters = counters;
    }

    /** Throws when the call is to be rejected, or this thread must not wait. */
    void requireMayWait(PeerLink link) {
        if (mustNotWait()) {
            throw CallErrors.refused(ErrorCode.BACK_PRESSURE, noRoom(link));
        }
    }

    /**
     * Waits briefly for room in the flow account of a peer.
     *
     * @throws CallException when the deadline has passed
     */
    void await(PeerLink link, long deadlineNs, long timeoutNs) {
        if (isPast(deadlineNs)) {
            counters.countTimeout();
            throw CallErrors.timedOutBeforeSending(timeoutNs, noRoom(link));
        }
        waits.helpBriefly();
    }

    /**
     * Waits briefly for room in another resource.
     *
     * @param why reason for the lack of room, for the error
     * @throws CallException when the call is to be rejected, this thread must not wait, or the deadline has passed
     */
    void await(String why, long deadlineNs, long timeoutNs) {
        if (mustNotWait()) {
            throw CallErrors.refused(ErrorCode.BACK_PRESSURE, why);
        }
        if (isPast(deadlineNs)) {
            counters.countTimeout();
            throw CallErrors.timedOutBeforeSending(timeoutNs, why);
        }
        waits.helpBriefly();
    }

    private boolean mustNotWait() {
        return overflow == Overflow.REFUSE || !waits.mayBlock();
    }

    private boolean isPast(long deadlineNs) {
        return deadlineNs != 0 && clock.bootNs() >= deadlineNs;
    }

    private static String noRoom(PeerLink link) {
        return "too much is on its way to worker " + link + ": " + link.flow().inFlight() + " calls";
    }
}
