package io.waybill.handling;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.ContextScope;
import io.waybill.api.context.ThreadContext;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.InterceptedCall;
import io.waybill.host.Threads;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.intercept.InterceptorChain;
import io.waybill.intercept.InterceptorEntry;
import java.time.Duration;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Interceptors of one call, in a worker or a replay. Runs them, and contains their failures: their exceptions fail this
 * call, and are charged to them. Reusable.
 *
 * <p><b>Threads.</b> Belongs to the calling thread until the request is sent, and then to the thread that completes the
 * call.
 */
public final class CallHooks implements InterceptedCall {

    private static final int FIRST_CAPACITY = 4;

    private final InterceptorDepth depth;
    private final OutgoingMessage outgoing = new OutgoingMessage(this);
    private final ArrivedResponse arrived = new ArrivedResponse(this);
    private InterceptorChain<CallInterceptor> chain;
    private String to = "";
    private MessageType calledType = MessageType.UNKNOWN;
    private long parent = MessageId.NONE;
    private CallContext callersContext = CallContext.EMPTY;
    private CallContext sentContext = CallContext.EMPTY; // as changed by interceptors
    private Object[] attachments = new Object[FIRST_CAPACITY];
    private final BitSet wrapping = new BitSet(FIRST_CAPACITY); // set of the interceptors that wrapped the request
    private KeptRequest kept; // null unless an interceptor keeps the request
    // Number of interceptors that had the request, and were not notified of the outcome. The thread that decrements it
    // notifies that interceptor: it completes the call, or, while an interceptor holds that thread, ends the call at
    // its deadline.
    private final AtomicInteger open = new AtomicInteger();
    private int at; // number of the interceptor that is called
    private Thread inside; // thread that is inside the interceptor; null for none
    // The next fields are of a thread, looked up once for all that this thread does for the call; null before.
    private Thread ownOf;
    private int[] own; // depth of the thread
    private ThreadContext current;
    private ContextScope before; // context that was current there; null for none
    private boolean pending; // interrupt of the thread

    /**
     * Creates an object for calls of one worker.
     *
     * @param depth shared by all calls of the worker
     */
    public CallHooks(InterceptorDepth depth) {
        this.depth = depth;
    }

    /**
     * Begins a call.
     *
     * @param context of the program's thread
     */
    public void open(
            InterceptorChain<CallInterceptor> interceptors, Request request, long parentId, CallContext context) {
        chain = interceptors;
        to = request.to();
        calledType = request.type();
        parent = parentId;
        callersContext = context;
        sentContext = context;
        open.lazySet(0);
        if (attachments.length < interceptors.size()) {
            attachments = new Object[interceptors.size()];
        }
        outgoing.open(request);
    }

    void redirected(String worker) {
        to = worker;
    }

    /**
     * Calls the interceptors of the request, and returns the request to send.
     *
     * @param isAwaited whether the calling thread waits for the outcome
     * @throws CallException when one of them fails the call
     */
    public Request request(boolean isAwaited) {
        outgoing.awaited(isAwaited);
        enter(callersContext);
        try {
            boolean live = PassedObjects.areLive(outgoing.request().tensors());
            for (at = 0; at < chain.size(); at++) {
                CallInterceptor interceptor = chain.get(at).interceptor();
                if (interceptor != null) {
                    interceptor.onRequest(outgoing);
                }
                open.lazySet(at + 1);
                live = PassedObjects.requireLive(live, outgoing.request().tensors());
            }
        } catch (Throwable e) { // the boundary around an interceptor
            throw failure("onRequest", MessageId.NONE, e);
        } finally {
            outgoing.seal();
            leave();
        }
        if (kept != null) {
            kept.copy(outgoing.request());
        }
        return outgoing.request();
    }

    /** Returns whether no interceptor takes part in the call any more, regardless of its outcome. */
    public boolean isOver() {
        return !chain.seesOutcomes() && wrapping.isEmpty() && kept == null;
    }

    /** Returns whether an interceptor kept the request, so that a failed attempt may be repeated. */
    public boolean isKept() {
        return kept != null && kept.isCopied();
    }

    /**
     * Asks the interceptors that kept the request whether it is repeated. Does not throw.
     *
     * @param leftNs time until the call's deadline; {@link Long#MAX_VALUE} for none
     * @return nanoseconds until it is repeated; negative when the failure is the outcome
     */
    public long attemptFailed(CallException failure, long leftNs) {
        kept.failed(failure, leftNs);
        enter(sentContext);
        for (at = open.get() - 1; at >= 0 && !kept.isRepeated(); at--) {
            CallInterceptor interceptor = kept.isKeptBy(at) ? chain.get(at).interceptor() : null;
            try {
                if (interceptor != null) {
                    interceptor.onAttemptFailed(kept);
                }
            } catch (Throwable e) { // the boundary around an interceptor
                kept.notRepeated();
                chain.get(at).threw("onAttemptFailed", text(failure.messageId()), e);
            }
        }
        leave();
        return kept.decided();
    }

    /** Returns the kept request for another attempt. */
    public Request repeated(Duration timeout) {
        return kept.again(timeout);
    }

    /** Releases the kept request. Does not throw. */
    public void releaseKept() {
        if (kept != null) {
            kept.release();
            kept = null;
        }
    }

    /**
     * Releases the objects that interceptors passed with the request, after it was written or dropped. Does not throw.
     */
    public void releaseRequest() {
        outgoing.close();
    }

    /**
     * Calls the interceptors of the response, the last one first. Returns the failure of the call; null for none. Does
     * not throw.
     */
    public CallException respond(ReplaceableResponse response) {
        long id = response.id();
        arrived.open(response);
        enter(sentContext);
        try {
            boolean live = PassedObjects.areLive(response.tensors());
            for (at = next(); at >= 0; at = next()) {
                CallInterceptor interceptor = chain.get(at).interceptor();
                if (interceptor != null) {
                    interceptor.onResponse(arrived);
                    live = PassedObjects.requireLive(live, response.tensors());
                } else if (wrapping.get(at)) {
                    return gone(id);
                }
            }
            return null;
        } catch (Throwable e) { // the boundary around an interceptor
            return failure("onResponse", id, e);
        } finally {
            leave();
            arrived.close();
        }
    }

    /**
     * Notifies the interceptors that were not notified yet of the call's failure, the last one first. Does not throw.
     */
    public void failed(CallException failure) {
        enter(sentContext);
        for (at = next(); at >= 0; at = next()) {
            failed(at, this, failure);
        }
        leave();
    }

    /**
     * Notifies, as {@link #failed} does, while an interceptor of the call holds another thread. That interceptor is
     * notified, too, if the thread is in {@link CallInterceptor#onAttemptFailed}. This object must not be reused for
     * another call. Does not throw.
     */
    public void failedMeanwhile(CallException failure) {
        int[] outer = depth.own();
        outer[0]++;
        ThreadContext thread = ThreadContext.own();
        ContextScope outside = thread.enter(sentContext);
        for (int each = next(); each >= 0; each = next()) {
            failed(each, new EndedCall(to, calledType, parent, sentContext, attachments[each]), failure);
        }
        thread.leave(outside);
        outer[0]--;
    }

    private void failed(int index, InterceptedCall call, CallException failure) {
        InterceptorEntry<CallInterceptor> entry = chain.get(index);
        CallInterceptor interceptor = entry.interceptor();
        try {
            if (interceptor != null) {
                interceptor.onFailure(call, failure);
            }
        } catch (Throwable e) { // the boundary around an interceptor
            entry.threw("onFailure", text(failure.messageId()), e);
        }
    }

    /**
     * Returns the interceptor to notify of the outcome next, which no other thread notifies; -1 when all are notified.
     */
    private int next() {
        int left = open.get();
        while (left > 0 && !open.compareAndSet(left, left - 1)) {
            left = open.get();
        }
        return left - 1;
    }

    /** Returns the failure for an exception before the request was sent. */
    public static CallException notSent(Throwable why) {
        return why instanceof CallException known
                ? known
                : new CallException(
                        ErrorKind.UNKNOWN_ERROR, ErrorCode.UNKNOWN, MessageId.NONE, ForeignErrors.describe(why), why);
    }

    /** Returns the interceptors. */
    public InterceptorChain<CallInterceptor> chain() {
        return chain;
    }

    /** Returns the id of the request whose handler makes the call. */
    public long parent() {
        return parent;
    }

    /** Returns the receiver as the program wrote it. */
    public String receiver() {
        return to;
    }

    /** Forgets the call, and the objects that a bundle attached to it. */
    public void clear() {
        Arrays.fill(attachments, 0, chain.size(), null);
        wrapping.clear();
        chain = null;
        callersContext = CallContext.EMPTY;
        sentContext = CallContext.EMPTY;
        own = null;
        current = null;
        ownOf = null;
    }

    private CallException gone(long id) {
        String text = "the interceptor of " + chain.get(at).provider() + " that wrapped call " + MessageId.text(id)
                + " left before the response came";
        return new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.HANDLER_GONE, id, text);
    }

    /** Stores the state of the calling thread. */
    public void calledOn(ThreadContext context, int[] ownDepth) {
        own = ownDepth;
        current = context;
        ownOf = Thread.currentThread();
    }

    private void enter(CallContext context) {
        inside = Thread.currentThread();
        if (inside != ownOf) {
            calledOn(ThreadContext.own(), depth.own());
        }
        own[0]++;
        before = current.enter(context);
        pending = Threads.hideInterrupt();
    }

    private void leave() {
        Threads.restoreInterrupt(pending);
        current.leave(before);
        before = null;
        own[0]--;
        inside = null;
    }

    /** Returns the failure of the call for an exception of an interceptor, and charges it to the interceptor. */
    private CallException failure(String method, long id, Throwable e) {
        InterceptorEntry<CallInterceptor> entry = chain.get(at);
        if (e instanceof RejectedMessageException rejection) {
            try {
                return new CallException(
                        ErrorKind.UNKNOWN_ERROR, rejection.code(), id, String.valueOf(rejection.getMessage()), e);
            } catch (Throwable inException) { // of a bundle, which may have code of its own
                entry.threw(method, text(id), inException);
            }
        }
        entry.threw(method, text(id), e);
        String text =
                "the interceptor of " + entry.provider() + " failed in " + method + ": " + ForeignErrors.describe(e);
        return new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.HANDLER_FAILED, id, text, e);
    }

    private String text(long id) {
        return id == MessageId.NONE
                ? "a " + calledType + " to " + to + ", which was not sent"
                : "call " + MessageId.text(id);
    }

    /**
     * Throws an {@link IllegalStateException} unless the calling thread is inside an interceptor of this call: this
     * object is reused for other calls.
     */
    void requireInside() {
        if (inside != Thread.currentThread()) {
            throw new IllegalStateException(
                    "an intercepted call is used by the thread that its interceptor was called on, until it returns");
        }
    }

    void wrapped() {
        wrapping.set(at);
    }

    void keep() {
        if (kept == null) {
            kept = new KeptRequest(this, chain.size());
        }
        kept.keptBy(at);
    }

    void context(CallContext context) {
        sentContext = Objects.requireNonNull(context);
    }

    /** Returns the context of the program's call. */
    public CallContext callersContext() {
        return callersContext;
    }

    /** Returns the context that is sent with the call. */
    public CallContext sentContext() {
        return sentContext;
    }

    void attach(Object attachment) {
        attachments[at] = attachment;
    }

    @Override
    public String to() {
        requireInside();
        return to;
    }

    @Override
    public MessageType calledType() {
        requireInside();
        return calledType;
    }

    @Override
    public long parentId() {
        requireInside();
        return parent;
    }

    @Override
    public CallContext context() {
        requireInside();
        return sentContext;
    }

    @Override
    public Object attachment() {
        requireInside();
        return attachments[at];
    }

    /**
     * Call that ended while one of its interceptors holds the thread that completes it, as another interceptor sees it
     * in its last callback. Immutable.
     */
    private record EndedCall(String to, MessageType calledType, long parentId, CallContext context, Object attachment)
            implements InterceptedCall {}
}
