package io.waybill.worker.call;

import io.waybill.api.CallException;
import io.waybill.api.Caller;
import io.waybill.api.MessageId;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.exchange.CallOrigin;
import io.waybill.handling.CallReports;
import io.waybill.host.Clock;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.poll.WaitingCallers;
import io.waybill.worker.reference.ReferenceCalls;
import io.waybill.worker.reference.SentReferences;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;

/**
 * The calling side of a worker: writes requests, and waits for outcomes or returns futures of them.
 *
 * <p><b>Threads.</b> Any.
 */
public final class Calls implements Caller, ReferenceCalls {

    private final InterceptingWriter writer;
    private final Duration defaultTimeout;
    private final Clock clock;
    private final Poller poller;
    private final WaitingCallers waits;
    private final CallReports reports;

    Calls(CallingContext context, InterceptingWriter writer) {
        this.writer = writer;
        this.defaultTimeout = context.settings().defaultTimeout();
        this.clock = context.publishing().clock();
        this.poller = context.poller();
        this.waits = context.waiting();
        this.reports = context.publishing().reports();
    }

    @Override
    public Response call(Request request) {
        return call(request, MessageId.NONE, 0);
    }

    @Override
    public CompletableFuture<Response> callAsync(Request request) {
        return callAsync(request, MessageId.NONE, 0);
    }

    @Override
    public long call(Request request, ResponseListener listener) {
        return send(request, listener, MessageId.NONE, 0);
    }

    Response call(Request request, long parent, long parentDeadlineNs) {
        writer.requireOpen();
        waits.requireMayBlock();
        BlockingCall call = new BlockingCall(waits);
        boolean sent = false;
        try {
            writer.write(request, call, parent, parentDeadlineNs, null);
            sent = true;
        } finally {
            if (!sent) {
                call.notSent();
                poller.surfaceFaults(); // a wait surfaces them by itself
            }
        }
        call.await();
        call.report(reports);
        return call.outcome();
    }

    CompletableFuture<Response> callAsync(Request request, long parent, long parentDeadlineNs) {
        FutureCall call = new FutureCall();
        try {
            send(request, call, parent, parentDeadlineNs);
        } catch (CallException e) { // nothing was sent
            call.onFailure(e);
        }
        return call;
    }

    @Override
    public Response callFromHere(Request request) {
        CallOrigin origin = waits.origin();
        return call(request, origin.parent(), origin.deadlineNs());
    }

    @Override
    public CompletableFuture<Response> callAsyncFromHere(Request request) {
        CallOrigin origin = waits.origin();
        return callAsync(request, origin.parent(), origin.deadlineNs());
    }

    @Override
    public boolean await(Future<?> future, long maxNs) throws InterruptedException {
        return waits.threads().await(future, maxNs);
    }

    @Override
    public long boundedHere(long timeoutNs) {
        long deadlineNs = waits.origin().deadlineNs();
        if (deadlineNs == 0) {
            return timeoutNs;
        }
        long leftNs = Math.max(1, deadlineNs - clock.bootNs());
        return timeoutNs == 0 ? leftNs : Math.min(timeoutNs, leftNs);
    }

    /**
     * Sends a request on behalf of another one.
     *
     * @param parentDeadlineNs on CLOCK_BOOTTIME; 0 for none
     */
    long send(Request request, ResponseListener listener, long parent, long parentDeadlineNs) {
        return send(request, listener, parent, parentDeadlineNs, null);
    }

    /**
     * Sends a request that may create a value on its receiver.
     *
     * @param creation creates the reference to the value; null when the request creates none
     */
    long send(
            Request request,
            ResponseListener listener,
            long parent,
            long parentDeadlineNs,
            SentReferences.Creation creation) {
        try {
            return writer.write(request, listener, parent, parentDeadlineNs, creation);
        } finally {
            poller.surfaceFaults();
        }
    }

    /**
     * Waits until a future is done, and polls meanwhile.
     *
     * @throws IllegalStateException when this thread polls already
     */
    public void await(Future<?> future) throws InterruptedException {
        waits.requireMayBlock();
        waits.await(future);
    }

    @Override
    public Duration defaultTimeout() {
        return defaultTimeout;
    }

    @Override
    public boolean mayBlock() {
        return waits.mayBlock();
    }

    @Override
    public void requireMayBlock() {
        waits.requireMayBlock();
    }

    /** A call whose outcome completes a future. */
    private static final class FutureCall extends CompletableFuture<Response>
            implements PendingCalls.RetainingListener {

        @Override
        public void onResponse(Response response) {
            OwnedResponse owned;
            try {
                owned = OwnedResponse.keep(response);
            } catch (CallException e) {
                completeExceptionally(e);
                return;
            }
            if (!complete(owned)) {
                owned.close(); // cancelled
            }
        }

        @Override
        public void onFailure(CallException failure) {
            completeExceptionally(failure);
        }
    }
}
