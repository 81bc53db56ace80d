package io.waybill.python.link;

import io.waybill.api.Caller;
import io.waybill.api.Rpc;
import io.waybill.python.wire.SocketFrame;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;

/**
 * A request that the process is serving. Thread-safe.
 *
 * @param outcome completed by the frame that ends the exchange; exceptionally when the connection ends, or with a {@link TimeoutException}
 * @param caller of calls on its behalf
 * @param rpc of remote references on its behalf
 * @param isAwaited whether a thread waits for the outcome, and for the deadline
 * @param deadlineNs by {@link System#nanoTime}; {@link #NEVER} if there is none, or a thread waits for it
 */
record ServedCall(CompletableFuture<SocketFrame> outcome, Caller caller, Rpc rpc, boolean isAwaited, long deadlineNs) {

    private static final long NEVER = Long.MAX_VALUE;

    /** One that a thread waits for. */
    ServedCall(Caller caller, Rpc rpc) {
        this(new CompletableFuture<>(), caller, rpc, true, NEVER);
    }

    /** @param remainingNs {@link Long#MAX_VALUE} without a deadline */
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

    /** Ends it if its deadline has passed. Returns whether this ended it. */
    boolean expire(long nowNs) {
        return hasDeadline() && deadlineNs - nowNs <= 0 && outcome.completeExceptionally(new TimeoutException());
    }
}
