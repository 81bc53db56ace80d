package io.waybill.worker.call;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.Response;
import io.waybill.api.context.ContextScope;
import io.waybill.api.context.ThreadContext;
import io.waybill.handling.CallReports;
import io.waybill.host.Threads;
import io.waybill.worker.poll.WaitCondition;
import io.waybill.worker.poll.WaitingCallers;

/** A call with a waiting thread. The polling thread completes it, and the waiting thread reports its end. */
final class BlockingCall implements PendingCalls.RetainingListener, WaitCondition {

    private final WaitingCallers waits;
    private final Threads threads;
    private final Thread waiter;
    private boolean polls; // whether this thread polls since before the request was written
    private Response response;
    private CallException failure;
    private boolean isReported; // whether its end is reported to listeners for events
    private int about; // length of the response's record; the id of the called worker when it failed
    // Written by the completing thread after the outcome, read by the waiting thread before it.
    private volatile boolean completed;
    // Written by the waiting thread before its last check of completed, read by the completing thread after it has set
    // completed.
    private volatile boolean parked;
    private volatile Runnable ring; // like parked, for a thread that waits at the doorbell; null otherwise

    BlockingCall(WaitingCallers waits) {
        this.waits = waits;
        this.threads = waits.threads();
        this.waiter = threads.current();
    }

    /** Prepares for the write of the request, after which this thread immediately polls for the response. */
    void beforeWrite() {
        polls = polls || waits.tryBegin();
    }

    /** Ends what {@link #beforeWrite} began: nothing was sent. */
    void notSent() {
        if (polls) {
            polls = false;
            waits.end();
        }
    }

    /** Waits for the outcome, and polls meanwhile. */
    void await() {
        waits.await(this, polls);
    }

    @Override
    public void onResponse(Response arrived) {
        try {
            response = OwnedResponse.keep(arrived);
        } catch (CallException e) {
            failure = e;
            about = arrived.from();
        }
        complete();
    }

    @Override
    public void onFailure(CallException error) {
        failure = error;
        complete();
    }

    /**
     * Lets the waiting thread report the end. By the completing thread, before it completes this.
     *
     * @param lengthOrPeer the length of the response's record; the id of the called worker when the call failed
     */
    void reported(int lengthOrPeer) {
        isReported = true;
        about = lengthOrPeer;
    }

    private void complete() {
        completed = true;
        if (parked) {
            threads.unpark(waiter);
        }
        Runnable wake = ring;
        if (wake != null && threads.current() != waiter) {
            wake.run();
        }
    }

    @Override
    public boolean isMet() {
        return completed;
    }

    @Override
    public boolean wakenBy(Runnable ringing) {
        if (Threads.isVirtual(waiter)) {
            return false;
        }
        ring = ringing;
        return true;
    }

    @Override
    public void park(long maxNs) {
        parked = true;
        if (!completed) {
            threads.park(this, maxNs);
        }
        parked = false;
    }

    /** Reports the end, if it is to be reported. By the waiting thread, which holds no permit. */
    void report(CallReports reports) {
        if (!isReported) {
            return;
        }
        ThreadContext own = ThreadContext.own();
        ContextScope before = own.mark();
        if (failure == null) {
            int tensors = response.tensors().size();
            reports.ended(response.id(), response.from(), response.type(), null, about, tensors);
        } else {
            reports.ended(failure.messageId(), about, MessageType.EXCEPTION, failure.code(), 0, 0);
        }
        own.leave(before); // closes the scopes that listeners left open
    }

    Response outcome() {
        if (failure != null) {
            failure.addSuppressed(new CallerStack());
            throw failure;
        }
        return response;
    }

    /** Stack of the waiting caller; the failure itself was created on the polling thread. */
    private static final class CallerStack extends Exception {
        private static final long serialVersionUID = 1L;

        CallerStack() {
            super("called from here");
        }
    }
}
