package io.waybill.worker.call;

import io.waybill.api.CallException;
import io.waybill.api.Response;
import io.waybill.worker.poll.WaitCondition;
import java.util.concurrent.locks.LockSupport;

/** A call with a waiting thread. The polling thread completes it. */
final class BlockingCall implements RetainingListener, WaitCondition {

    private final Thread waiter = Thread.currentThread();
    private Response response;
    private CallException failure;
    // Written by the completing thread after the outcome, read by the waiting thread before it.
    private volatile boolean completed;
    // Written by the waiting thread before its last check of settled, read by the completing thread after it set that.
    private volatile boolean parked;

    @Override
    public void onResponse(Response arrived) {
        try {
            response = OwnedResponse.keep(arrived);
        } catch (CallException e) {
            failure = e;
        }
        complete();
    }

    @Override
    public void onFailure(CallException error) {
        failure = error;
        complete();
    }

    private void complete() {
        completed = true;
        if (parked) {
            LockSupport.unpark(waiter);
        }
    }

    @Override
    public boolean isMet() {
        return completed;
    }

    @Override
    public void park(long maxNs) {
        parked = true;
        if (!completed) {
            LockSupport.parkNanos(this, maxNs);
        }
        parked = false;
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
