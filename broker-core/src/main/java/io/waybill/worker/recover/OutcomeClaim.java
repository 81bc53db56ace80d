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
 * A wait for the outcome of a call that an earlier incarnation of the worker made.
 *
 * <p><b>Threads.</b> Settled by the thread of {@link EarlierCalls}, or by who closes it.
 */
public final class OutcomeClaim {

    /** Whether the receiver is asked again. */
    public enum Way {
        /** Its response is on record, or will be. */
        WAIT,
        /** It is sent the request again, under its id. */
        REPEAT
    }

    private final long id;
    private final long timeoutNs;
    private final long deadlineNs;
    private final Way way;
    private final CompletableFuture<Response> outcome = new CompletableFuture<>();
    private boolean acrossIncarnations;
    private long lostSinceNs; // 0: the peer is there, as far as is known
    private long unsearchableSinceNs; // on the monotonic clock; 0: the peer's responses could be opened

    /**
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

    /** On CLOCK_BOOTTIME; 0 for none. */
    long deadlineNs() {
        return deadlineNs;
    }

    CompletableFuture<Response> outcome() {
        return outcome;
    }

    /** Whether the request may be run by a later incarnation of its receiver. */
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

    /** Whether no caller waits any more, the time being over or not. */
    boolean isOver(long nowNs, String peer) {
        if (deadlineNs != 0 && nowNs >= deadlineNs) {
            fail(CallErrors.timedOut(id, timeoutNs, peer));
        }
        return outcome.isDone();
    }

    void peerIsThere() {
        lostSinceNs = 0;
    }

    /** The peer's responses can't be opened. Returns whether this was so for that long. */
    boolean isUnsearchableFor(long limitNs, long nowNs) {
        unsearchableSinceNs = unsearchableSinceNs == 0 ? nowNs : unsearchableSinceNs;
        return nowNs - unsearchableSinceNs >= limitNs;
    }

    /** The peer is gone, and has not answered. Returns whether that is the outcome. */
    boolean endsWithPeer(long nowNs, long returnLimitNs, String peer) {
        lostSinceNs = lostSinceNs == 0 ? nowNs : lostSinceNs;
        boolean mayReturn = acrossIncarnations && nowNs - lostSinceNs < returnLimitNs;
        if (!mayReturn) {
            fail(ErrorCode.WORKER_LOST, "worker " + peer + " is gone, and has not answered call " + MessageId.text(id));
        }
        return !mayReturn;
    }
}
