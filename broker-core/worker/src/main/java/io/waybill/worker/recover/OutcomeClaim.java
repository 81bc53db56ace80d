package io.waybill.worker.recover;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.Response;
import io.waybill.worker.call.OwnedResponse;
import io.waybill.worker.peer.CallErrors;
import java.util.concurrent.CompletableFuture;

/**
 * Claim to the outcome of a call that an earlier incarnation of the worker made.
 *
 * <p><b>Threads.</b> Completed by the thread of {@link EarlierCalls}, or by the thread that closes it.
 */
public final class OutcomeClaim {

    /** Way to the outcome: without or with another send of the request. */
    public enum Way {
        /** Waits for the response, which is or will be recorded. */
        WAIT,
        /** Sends the request again, under its id. */
        REPEAT
    }

    private final long id;
    private final long timeoutNs;
    private final long deadlineNs;
    private final Way way;
    private final CompletableFuture<Response> outcome = new CompletableFuture<>();
    private boolean acrossIncarnations;
    private long lostSinceNs; // 0: the peer is present, as far as is known
    private long unsearchableSinceNs; // on the monotonic clock; 0: the peer's responses could be opened

    /**
     * Creates a claim.
     *
     * @param timeoutNs 0 for none
     * @param deadlineNs on CLOCK_BOOTTIME; 0 for none
     */
    OutcomeClaim(long id, Way way, long timeoutNs, long deadlineNs) {
        this.id = id;
        this.way = way;
        this.timeoutNs = timeoutNs;
        this.deadlineNs = deadlineNs;
    }

    long id() {
        return id;
    }

    Way way() {
        return way;
    }

    /** Returns the deadline, on CLOCK_BOOTTIME; 0 for none. */
    long deadlineNs() {
        return deadlineNs;
    }

    CompletableFuture<Response> outcome() {
        return outcome;
    }

    /** Sets whether a later incarnation of the receiver may run the request. */
    void acrossIncarnations(boolean may) {
        acrossIncarnations = may;
    }

    void complete(OwnedResponse response) {
        if (!outcome.complete(response)) {
            response.close(); // cancelled
        }
    }

    void fail(CallException failure) {
        outcome.completeExceptionally(failure);
    }

    void fail(ErrorCode code, String text) {
        fail(new CallException(ErrorKind.UNKNOWN_ERROR, code, id, text));
    }

    /** Returns whether no caller waits any more; fails the claim when its deadline has passed. */
    boolean isOver(long nowNs, String peer) {
        if (deadlineNs != 0 && nowNs >= deadlineNs) {
            fail(CallErrors.timedOut(id, timeoutNs, peer));
        }
        return outcome.isDone();
    }

    void peerIsThere() {
        lostSinceNs = 0;
    }

    /** Notes that the peer's responses can't be opened. Returns whether this has lasted for {@code limitNs}. */
    boolean isUnsearchableFor(long limitNs, long nowNs) {
        unsearchableSinceNs = unsearchableSinceNs == 0 ? nowNs : unsearchableSinceNs;
        return nowNs - unsearchableSinceNs >= limitNs;
    }

    /** Notes that the peer has ended without a response. Returns whether the claim fails for that reason. */
    boolean endsWithPeer(long nowNs, long returnLimitNs, String peer) {
        lostSinceNs = lostSinceNs == 0 ? nowNs : lostSinceNs;
        boolean mayReturn = acrossIncarnations && nowNs - lostSinceNs < returnLimitNs;
        if (!mayReturn) {
            fail(
                    ErrorCode.WORKER_LOST,
                    "worker " + peer + " is gone, and has not responded to call " + MessageId.text(id));
        }
        return !mayReturn;
    }
}
