package io.waybill.worker.call;

import io.waybill.api.CallException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.handling.CallHooks;
import io.waybill.handling.InterceptorDepth;
import io.waybill.intercept.InterceptorChain;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One intercepted call, from its request to its outcome: the listener that passes the outcome through the interceptors to the program's
 * own. Pooled.
 *
 * <p>The interceptors of a response run while the call is still in flight, so its deadline ends it if one of them does not return; the
 * thread that ran them then finds the call taken, and drops the response.
 *
 * <p><b>Threads.</b> Belongs to the calling thread until the request is written, and to the thread that completes the call. It is pooled
 * when both have left it.
 */
final class CallInterception implements ResponseListener {

    private final InterceptingWriter owner;
    private final CallHooks hooks;
    private final AtomicInteger users = new AtomicInteger(); // the writing and the completing thread
    private final AtomicBoolean completed = new AtomicBoolean();
    private ResponseListener target;
    // Whether interceptors see the response. Written while the call is taken, and published by giving it back.
    private boolean arriving;

    CallInterception(InterceptingWriter owner, InterceptorDepth depth) {
        this.owner = owner;
        this.hooks = new CallHooks(depth);
    }

    // ---- the request

    void open(InterceptorChain<CallInterceptor> chain, Request request, ResponseListener listener, long parentId) {
        hooks.open(chain, request, parentId);
        target = listener;
        arriving = false;
        completed.lazySet(false);
        users.lazySet(2);
    }

    /**
     * Calls the interceptors, and returns the request to send.
     *
     * @throws CallException when one of them fails the call
     */
    Request intercepted() {
        return hooks.request();
    }

    /** Notifies the interceptors that the request was not sent. */
    void notSent(Throwable why) {
        if (completed.compareAndSet(false, true)) {
            hooks.failed(CallHooks.notSent(why));
            ended();
        }
    }

    /** Marks that the calling thread leaves this object. */
    void written() {
        hooks.releaseRequest();
        left();
    }

    // ---- the outcome

    /** Returns whether the program keeps the response beyond the callback. */
    boolean isKeeping() {
        return target instanceof RetainingListener;
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
            view.releaseRetained();
            hooks.chain().end();
            return;
        }
        owner.pending().free(slot);
        completed.set(true);
        try {
            if (failure == null) {
                target.onResponse(view);
            } else {
                view.releaseRetained();
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
            target.onFailure(failure);
        } else if (completed.compareAndSet(false, true)) {
            try {
                target.onFailure(failure);
            } finally {
                hooks.failed(failure);
                ended();
            }
        }
    }

    private void ended() {
        hooks.chain().end();
        left();
    }

    private void left() {
        if (users.decrementAndGet() == 0) {
            hooks.clear();
            target = null;
            owner.free(this);
        }
    }
}
