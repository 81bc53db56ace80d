package io.waybill.exchange;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.context.ContextScope;
import io.waybill.api.handler.SelectivelyBlocking;
import io.waybill.dispatch.ExecutorRefusedException;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.Outcome;
import io.waybill.handling.DispatchException;
import io.waybill.handling.Failure;
import io.waybill.handling.HandlerInterception;
import io.waybill.handling.InboundMessage;
import io.waybill.handling.OutgoingResponse;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Request with its one outcome, from the moment at which a handler has counted it: admitted, begun, responded or
 * deferred, ended. The class is the same for a request of a peer, a message inside a message, and a replayed request,
 * which differ in their {@link RequestSource} and {@link ResponseSink}. Reusable.
 *
 * <p>The thread that sets {@link #open} from the request's number to 0 ends the request: the thread of its handler, a
 * thread that gives a deferred response, or one that {@linkplain #abandon abandons} it.
 *
 * <p><b>Threads.</b> Handed from the thread that admits the request to the handler's, and with a deferred response to
 * the thread that responds.
 */
public final class Exchange implements HandlerCall, HandlerExecutor.Abandonable {

    /** State of a request after the call of its handler. */
    public enum Called {
        /** The handler was not called: it blocks for this request, and the thread must not wait. */
        BLOCKS,
        /** The request has ended on this thread, unless another thread had ended it before. */
        ENDED,
        /** The response was deferred: another thread may already use this object for another request. */
        DEFERRED
    }

    private final ExchangeContext context;
    private final RequestSource source;
    private final ResponseSink sink;
    private final OutgoingResponse response;
    private final ExchangeOutbox outbox;
    private final DispatchedCount dispatched = new DispatchedCount();
    private final AtomicLong open = new AtomicLong(); // number of the request without an outcome; otherwise 0
    // Written by the handler's thread and by the thread that ends its executor, each read by the other.
    private final AtomicBoolean begun = new AtomicBoolean();
    private long number;
    private HandlerEntry entry; // null before a handler has counted the request
    private HandlerInterception interception; // null until there are interceptors
    private boolean intercepted; // whether the request has interceptors
    private DeferredResponse late; // null until the handler defers its response
    private Thread inHandler; // thread that is inside the handler; null for none

    /** Creates an exchange without a request. @param inner receives the messages that handlers dispatch */
    public Exchange(ExchangeContext context, InnerRequests inner, RequestSource source, ResponseSink sink) {
        this.context = context;
        this.source = source;
        this.sink = sink;
        this.response = new OutgoingResponse(e -> context.errors().notReleased(entry, e));
        this.outbox = new ExchangeOutbox(this, inner, response);
    }

    // ---- before the call of its handler

    RequestSource source() {
        return source;
    }

    /**
     * Counts the request in at its interceptors, before a handler has counted it: from here on an update waits for it.
     * Returns false, and counts it nowhere, while one of them is being replaced.
     */
    public boolean openInterception() {
        intercepted = false;
        if (context.interceptors().table().isEmpty()) {
            return true;
        }
        if (interception == null) {
            interception = new HandlerInterception(context.interceptors(), context.workerId());
        }
        intercepted = interception.open(source.view(), source.isNested());
        return intercepted;
    }

    /** Counts the request out of its interceptors, when it ended without a call of them. */
    public void endInterception() {
        if (intercepted) {
            interception.end();
        }
    }

    /** Sets the handler that has counted the request, and will get it. */
    void counted(HandlerEntry by) {
        entry = by;
    }

    /**
     * Admits the request for a handler that has counted it.
     *
     * @param ofRequest a number above 0 that no other use of this object has
     */
    public void admit(HandlerEntry chosen, long ofRequest) {
        entry = chosen;
        number = ofRequest;
        late = null;
        begun.lazySet(false);
        open.lazySet(ofRequest); // last: a thread that sees it sees the other fields
    }

    /** Withdraws the request from a handler that has counted it and does not get it. */
    public void withdraw() {
        open.set(0);
        entry = null;
    }

    /** Returns whether its handler was called. */
    public boolean hasBegun() {
        return begun.get();
    }

    /** Returns whether the request with this number has no outcome. */
    public boolean isOpen(long ofRequest) {
        return open.get() == ofRequest;
    }

    public boolean isExpired() {
        long deadlineNs = source.deadlineNs();
        return deadlineNs != 0 && context.clock().bootNs() >= deadlineNs;
    }

    // ---- call of its handler

    /**
     * Passes the request to the threads of its handler, as a task that runs this exchange; fails it, and returns false,
     * when they accept no task.
     */
    public boolean queue(HandlerExecutor.Abandonable task) {
        try {
            entry.executor().execute(task);
            return true;
        } catch (ExecutorRefusedException e) {
            fail(Failure.notTaken(context.workerId(), e));
            return false;
        }
    }

    /** Calls the handler on one of the threads of its bundle. */
    @Override
    public void run() {
        if (isExpired()) { // expired while it waited for a thread, or this process was stopped
            failExpired("a handler began");
            return;
        }
        HandlerEntry by = entry;
        long sinceNs = context.clock().monotonicNs();
        call(context.stacks().get());
        by.took(context.clock().monotonicNs() - sinceNs);
    }

    /**
     * Calls the handler on this thread, and ends the request unless its response was deferred.
     *
     * @param stack of the calling thread
     * @return state of the request
     */
    public Called call(HandlerStack stack) {
        long mine = number;
        source.beginning();
        begun.lazySet(true);
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        ClassLoader wanted = entry.contextClassLoader();
        if (wanted != before) {
            thread.setContextClassLoader(wanted);
        }
        ContextScope outside = stack.context().mark();
        HandlerCall enclosing = stack.enter(this);
        inHandler = context.threads().current();
        boolean blocks = false;
        Failure decided = null; // failure that an interceptor decided
        Throwable thrown = null;
        try {
            stack.context().enter(source.context());
            InboundMessage message = source.open(entry);
            blocks = stack.isInline() && source.movesOn() && blocks(message);
            if (!blocks) {
                decided = handle(stack, message);
            }
        } catch (Throwable e) { // the boundary around a handler: any exception fails only its own request
            thrown = e;
        }
        inHandler = null;
        if (wanted != before) {
            thread.setContextClassLoader(before);
        }
        stack.leave(enclosing);
        // from here on the request ends exactly once
        Called called = Called.BLOCKS;
        if (blocks) {
            begun.lazySet(false);
        } else {
            called = returned(mine, decided, thrown);
        }
        stack.context().leave(outside); // removes anything that foreign code left behind
        return called;
    }

    private boolean blocks(InboundMessage message) {
        SelectivelyBlocking selects = entry.selects();
        return selects != null && selects.blocks(message);
    }

    /** Returns the failure that an interceptor decided; null for none. */
    private Failure handle(HandlerStack stack, InboundMessage message) throws Exception {
        ContextScope ofRequest = stack.context().mark();
        source.reportBegun(stack);
        stack.context().leave(ofRequest); // removes anything that converters and listeners left behind
        if (intercepted) {
            return interception.handle(entry, message, outbox, stack.context());
        }
        entry.handler().handle(message, outbox);
        return null;
    }

    /** Continues after the handler has returned, or its interceptors in its place. */
    private Called returned(long mine, Failure decided, Throwable thrown) {
        DeferredResponse deferred = late;
        Failure failed = thrown == null ? decided : failure(thrown);
        if (failed == null && deferred != null) {
            deferred.handlerReturned();
            return Called.DEFERRED;
        }
        if (deferred != null) {
            deferred.handlerThrew();
        }
        if (failed == null) {
            failed = source.damage();
        }
        if (failed == null && response.isEmpty()) {
            context.errors().noResponse(entry);
            failed = Failure.noResponse(context.workerId(), entry);
        }
        end(mine, response, failed, true);
        return Called.ENDED;
    }

    private Failure failure(Throwable thrown) {
        if (thrown instanceof RejectedMessageException refusal) {
            return Failure.rejected(context.workerId(), refusal);
        }
        Failure damage = source.damage();
        if (damage != null) {
            return damage;
        }
        if (!(thrown instanceof DispatchException)) {
            context.errors().threw(entry, source, thrown);
        }
        return Failure.threw(context.workerId(), thrown);
    }

    // ---- its end

    /**
     * Ends the request with its deferred response, unless another thread has ended it.
     *
     * @param failed null when the body is the response
     */
    void endLate(long ofRequest, OutgoingResponse body, Failure failed) {
        if (open.get() != ofRequest) { // abandoned: this object is not reused
            source.giveUp();
            return;
        }
        Failure outcome = intercepted ? interception.afterLate(source.context(), body, failed) : failed;
        Failure damage = source.damage();
        end(ofRequest, body, damage == null ? outcome : damage, false);
    }

    /** Ends the request with an error, unless another thread has ended it. */
    public void fail(Failure why) {
        end(number, response, why, false);
    }

    public void failExpired(String before) {
        fail(Failure.expired(source.view(), context.clock(), before));
    }

    private void end(long ofRequest, OutgoingResponse composed, Failure failed, boolean returned) {
        if (!open.compareAndSet(ofRequest, 0)) { // abandoned: this object is not reused
            response.reset();
            source.giveUp();
            return;
        }
        HandlerEntry ended = entry;
        Outcome outcome = Outcome.FAILED;
        boolean reusable = false;
        try {
            outcome = sink.respond(composed, failed, returned) ? Outcome.DONE : Outcome.FAILED;
        } finally {
            try {
                response.reset();
                endInterception();
                boolean isFree = source.release();
                reusable = isFree && dispatched.isEmpty();
                entry = null;
                late = null;
            } finally { // otherwise a drain of this handler would never end
                ended.end(outcome);
                sink.ended(reusable, returned); // last: this object may be reused afterwards
            }
        }
    }

    /** Ends a request whose handler's threads have ended. */
    @Override
    public void abandoned() {
        abandon(number);
    }

    @Override
    public void abandon(long ofRequest) {
        HandlerEntry ended = entry;
        if (ofRequest == 0 || ended == null || !open.compareAndSet(ofRequest, 0)) {
            return;
        }
        try {
            if (!begun.get() || late != null && late.isAwaited()) { // otherwise its thread may still be in the handler
                response.reset();
                source.giveUp();
            }
            sink.respond(new OutgoingResponse(), abandonedBecause(ended), false);
        } finally {
            endInterception();
            ended.end(Outcome.FAILED);
            sink.detached();
        }
    }

    /**
     * Returns the reason: the deadline when that has passed, because its caller sees a timeout; otherwise the handler.
     */
    private Failure abandonedBecause(HandlerEntry by) {
        return isExpired()
                ? Failure.expired(source.view(), context.clock(), "its response came")
                : Failure.of(
                        ErrorCode.HANDLER_STUCK,
                        context.workerId(),
                        by.provider() + " did not finish " + by.key().text() + " before it left");
    }

    // ---- methods for its outbox, and for messages inside its own

    /**
     * Throws {@link IllegalStateException} unless the calling thread is inside the handler: this object is reused for
     * other requests.
     */
    void requireInHandler() {
        if (inHandler != context.threads().current()) {
            throw new IllegalStateException(
                    "an outbox takes a response from the thread of its handler, until that returned;"
                            + " outbox.later() gives what any thread may respond with afterwards");
        }
    }

    /** Defers the response. Called by the handler's thread. */
    DeferredResponse defer() {
        if (late == null) {
            HandlerEntry by = entry;
            OutgoingResponse content =
                    new OutgoingResponse(e -> context.errors().notReleased(by, e));
            late = new DeferredResponse(this, number, content, context.workerId());
        }
        return late;
    }

    /** Returns the count of the messages that the handler dispatched. This object is not reused while there are any. */
    DispatchedCount dispatched() {
        return dispatched;
    }

    // ---- HandlerCall, read by the housekeeper's thread

    @Override
    public long sequence() {
        return open.get();
    }

    @Override
    public HandlerEntry entry() {
        return entry;
    }

    @Override
    public long id() {
        return source.id();
    }

    @Override
    public long deadlineNs() {
        return source.deadlineNs();
    }

    @Override
    public boolean isWaiting() {
        return dispatched.isWaiting();
    }

    @Override
    public DeferredResponse late() {
        return late;
    }
}
