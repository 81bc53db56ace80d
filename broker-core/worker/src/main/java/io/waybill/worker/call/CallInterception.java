package io.waybill.worker.call;

import io.waybill.api.CallException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.ThreadContext;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.handling.CallHooks;
import io.waybill.handling.InterceptorDepth;
import io.waybill.intercept.InterceptorChain;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * One intercepted call, from its request to its outcome: the listener that passes the outcome through the interceptors
 * to the program's listener. Pooled.
 *
 * <p>The interceptors of a response run while the call is still in flight, so its deadline ends it if one of them does
 * not return; the thread that ran them then finds the call taken, and drops the response.
 *
 * <p><b>Threads.</b> Belongs to the calling thread until the request is written, and to the thread that completes the
 * call. The completing thread pools it, unless the calling thread has not left it yet.
 */
final class CallInterception implements ResponseListener {

    private final InterceptingWriter owner;
    private final CallHooks hooks;
    private final AtomicBoolean written = new AtomicBoolean(); // whether the writing thread has left this object
    private final AtomicBoolean completed = new AtomicBoolean();
    private ResponseListener target;
    // Whether interceptors see the response. Written while the call is taken, and published when the call is returned.
    private boolean arriving;
    // Of a call whose request is kept, for its repetition:
    private long deadlineNs; // on CLOCK_BOOTTIME; 0 for none
    private long timeoutNs; // timeout that the program set

    CallInterception(InterceptingWriter owner, InterceptorDepth depth) {
        this.owner = owner;
        this.hooks = new CallHooks(depth);
    }

    // ---- the request

    void open(
            InterceptorChain<CallInterceptor> chain,
            Request request,
            ResponseListener listener,
            long parentId,
            CallContext context,
            ThreadContext thread,
            int[] ownDepth) {
        hooks.open(chain, request, parentId, context);
        hooks.calledOn(thread, ownDepth);
        target = listener;
        arriving = false;
        completed.lazySet(false);
        written.lazySet(false);
    }

    /**
     * Calls the interceptors, and returns the request to send.
     *
     * @throws CallException when one of them fails the call
     */
    Request intercepted() {
        return hooks.request(target instanceof BlockingCall);
    }

    /** Returns the context of the program's call, which is current for its listener. */
    CallContext context() {
        return hooks.callersContext();
    }

    /** Returns the context that is on record with the request. */
    CallContext sentContext() {
        return hooks.sentContext();
    }

    /** Returns whether no interceptor takes part in the call any more: then its outcome is not for this object. */
    boolean isOver() {
        return hooks.isOver();
    }

    /** Ends an interception that {@linkplain #isOver is over}, once the request is written or could not be. */
    void over() {
        hooks.releaseRequest();
        hooks.chain().end();
        clear();
    }

    /** Returns whether an interceptor keeps the request to repeat it. */
    boolean isKept() {
        return hooks.isKept();
    }

    /** Sets the deadline for repetitions of the request. */
    void keepUntil(long callDeadlineNs, long callTimeoutNs) {
        deadlineNs = callDeadlineNs;
        timeoutNs = callTimeoutNs;
    }

    /** Stops keeping the request. */
    void doNotRepeat() {
        hooks.releaseKept();
    }

    /**
     * Notifies the interceptors that the request was not sent.
     *
     * @return whether it is sent later; otherwise the exception is the call's outcome
     */
    boolean notSent(Throwable why) {
        if (!completed.compareAndSet(false, true)) {
            return false;
        }
        CallException failure = CallHooks.notSent(why);
        switch (RepeatedCalls.mayBeSentLater(failure) ? decide(failure) : RepeatedCalls.Decision.FAILED) {
            case REPEATED:
                return true;
            case ENDED:
                dropped();
                return true; // its listener was notified
            default:
                hooks.failed(failure);
                ended();
                return false;
        }
    }

    /** Marks that the calling thread leaves this object. */
    void written() {
        hooks.releaseRequest();
        written.lazySet(true);
    }

    // ---- the outcome

    /** Returns whether the program keeps the response beyond the callback. */
    boolean isKeeping() {
        return target instanceof PendingCalls.RetainingListener;
    }

    /** Marks that the response is about to be passed to the interceptors. By the thread that has taken the call. */
    void responseArrives() {
        arriving = true;
    }

    @Override
    public void onResponse(Response response) {
        ResponseView view = (ResponseView) response;
        CallException failure = hooks.respond(view);
        PendingCalls.Slot slot = owner.pending().take(view.id());
        if (slot == null) { // its deadline passed; the thread that ended it may still read this object, which is not
            // reused
            owner.countLate();
            view.dropped();
            view.releaseRetained();
            dropped();
            return;
        }
        owner.pending().free(slot);
        completed.lazySet(true);
        try {
            if (failure == null) {
                target.onResponse(view);
            } else {
                view.releaseRetained();
                view.failed(failure.code());
                target.onFailure(failure);
            }
        } finally {
            if (failure != null) {
                hooks.failed(failure);
            }
            ended();
        }
    }

    @Override
    public void onFailure(CallException failure) {
        if (arriving) { // interceptors are seeing the response on another thread, which drops it
            failMeanwhile(failure);
        } else if (completed.compareAndSet(false, true)) {
            attemptFailed(failure, decide(failure));
        }
    }

    private void attemptFailed(CallException failure, RepeatedCalls.Decision decision) {
        if (decision == RepeatedCalls.Decision.FAILED) {
            fail(failure);
        } else if (decision == RepeatedCalls.Decision.ENDED) {
            dropped();
        }
    }

    private void fail(CallException failure) {
        try {
            target.onFailure(failure);
        } finally {
            hooks.failed(failure);
            ended();
        }
    }

    /** Ends a call while its interceptors occupy another thread, which leaves that to this thread. */
    private void failMeanwhile(CallException failure) {
        try {
            target.onFailure(failure);
        } finally {
            hooks.failedMeanwhile(failure);
        }
    }

    /** Leaves a call that ended on another thread, which may still read this object: it is not reused. */
    private void dropped() {
        hooks.releaseKept();
        hooks.chain().end();
    }

    // ---- another attempt

    private RepeatedCalls.Decision decide(CallException failure) {
        return hooks.isKept() ? owner.repeated().decide(this, failure, deadlineNs) : RepeatedCalls.Decision.FAILED;
    }

    long attemptFailed(CallException failure, long leftNs) {
        return hooks.attemptFailed(failure, leftNs);
    }

    /** Sends the request again. */
    void repeat() {
        written.lazySet(false);
        completed.set(false); // before another thread can complete the attempt
        try {
            owner.repeat(hooks, this, deadlineNs);
        } catch (RuntimeException | Error e) {
            if (completed.compareAndSet(false, true)) {
                CallException failure = CallHooks.notSent(e);
                attemptFailed(
                        failure,
                        RepeatedCalls.mayBeSentLater(failure) ? decide(failure) : RepeatedCalls.Decision.FAILED);
            }
        } finally {
            written.lazySet(true);
        }
    }

    /** Returns the listener for a call that ends while it waits to be repeated. */
    ResponseListener decided() {
        return new Ending(this::fail);
    }

    /** Returns the listener for a call that ends while its interceptors decide whether to repeat it. */
    ResponseListener undecided() {
        return new Ending(this::failMeanwhile);
    }

    /** The end of a call between two attempts. */
    private record Ending(Consumer<CallException> failing) implements ResponseListener {

        @Override
        public void onResponse(Response response) {
            throw new IllegalStateException("a call between two attempts has no response");
        }

        @Override
        public void onFailure(CallException failure) {
            failing.accept(failure);
        }
    }

    long timeoutNs() {
        return timeoutNs;
    }

    String receiver() {
        return hooks.receiver();
    }

    private void ended() {
        hooks.releaseKept();
        hooks.chain().end();
        if (written.get()) {
            clear();
        }
    }

    private void clear() {
        hooks.clear();
        target = null;
        owner.free(this);
    }
}
