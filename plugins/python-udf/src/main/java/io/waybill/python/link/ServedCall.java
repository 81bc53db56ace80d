package io.waybill.python.link;

import io.waybill.api.Caller;
import io.waybill.api.Rpc;
import io.waybill.python.wire.SocketFrame;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;

/**
 * A request that the process is serving. Thread-safe.
 *
 * @param outcome future that the last frame of the exchange completes; it fails when the connection ends, or with a
 *     {@link TimeoutException}
 * @param caller caller for calls on its behalf
 * @param rpc source of remote references on its behalf
 * @param isAwaited whether a thread waits for the outcome, and for the deadline
 * @param deadlineNs by {@link System#nanoTime}; {@link #NEVER} if there is none, or a thread waits for it
 */
record ServedCall(CompletableFuture<SocketFrame> outcome, Caller caller, Rpc rpc, boolean isAwaited, long deadlineNs) {

    private static final long NEVER = Long.MAX_VALUE;

    /** Creates a request for which a thread waits. */
    ServedCall(Caller caller, Rpc rpc) {
        this(new CompletableFuture<>(), caller, rpc, true, NEVER);
    }

    /** @param remainingNs {@link Long#MAX_VALUE} if there is no deadline */
    ServedCall(Caller caller, Rpc rpc, long remainingNs) {
        this(
                new CompletableFuture<>(),
                caller,
                rpc,
                false,
                remainingNs == NEVER ? NEVER : System.nanoTime() + Math.min(remainingNs, NEVER / 2));
    }

    boolean hasDeadline() {
        return deadlineNs != NEVER;
    }

    /** Fails the request if its deadline has passed; returns whether this call failed it. */
    boolean expire(long nowNs) {
        return hasDeadline() && deadlineNs - nowNs <= 0 && outcome.completeExceptionally(new TimeoutException());
    }
}
