package io.waybill.worker.inner;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.context.ContextScope;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.Outcome;
import io.waybill.handling.DispatchedResponse;
import io.waybill.handling.Failure;
import io.waybill.handling.HandlerInterception;
import io.waybill.handling.InboundMessage;
import io.waybill.handling.InnerMessage;
import io.waybill.handling.OutgoingResponse;
import io.waybill.wire.RecordView;
import io.waybill.worker.poll.HandlerCall;
import io.waybill.worker.poll.HandlerSlot;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One message that a handler dispatched from inside the one that it handles. It ends twice: for the outer handler, with one outcome, which
 * is a failure once the deadline passed; and for the inner one, when it is done. Pooled.
 *
 * <p><b>Threads.</b> Belongs to the dispatching thread, then to the inner handler's, and with a deferred response to the thread that
 * responds.
 */
final class InnerRequest implements HandlerCall, HandlerExecutor.Abandonable {

    private final InnerRequests home;
    private final InnerMessage inner = new InnerMessage(deadlineNs -> outer().leftNs(deadlineNs));
    private final OutgoingResponse response = new OutgoingResponse();
    private final HandlerInterception interception;
    private final InnerRequestOutbox outbox;
    // The number of the request while its handler has not ended; 0 once a thread has claimed that.
    private final AtomicLong open = new AtomicLong();
    private final InnerOutcome outcome;

    private EnclosingRequest outer;
    private HandlerEntry outerEntry; // stays when the outer request ends first
    private long number;
    private InnerCreation creation; // null when it creates no value
    private boolean allowed; // by the access policies
    private HandlerEntry entry; // null until a handler has counted it
    private final AtomicBoolean begun = new AtomicBoolean(); // read by the thread that ends its handler's executor
    private boolean inside; // whether its handler runs inside the dispatching method
    private boolean inline; // whether the handler must not wait
    private InnerLateResponse late; // null until the handler defers its response
    private Thread inHandler; // null for none

    InnerRequest(InnerRequests home) {
        this.home = home;
        this.outcome = new InnerOutcome(this, home);
        this.outbox = new InnerRequestOutbox(this, home, response);
        this.interception = new HandlerInterception(home.interceptors(), home.workerId());
    }

    /** Begins a request of the thread that has this slot; {@code toComplete} is null when that waits. */
    void open(
            EnclosingRequest enclosing,
            HandlerSlot slot,
            CompletableFuture<Response> toComplete,
            MessageType type,
            ByteBuffer payload,
            List<Tensor> tensors,
            List<? extends RRef> references) {
        inner.open(enclosing.view(), type, payload, tensors, references);
        outer = enclosing;
        outerEntry = enclosing.entry();
        number = outcome.open(toComplete, slot.context().current());
        allowed = false;
        entry = null;
        late = null;
        creation = type.isCreating() ? enclosing.takeCreation() : null;
        enclosing.dispatched().began();
    }

    // ---- before its handler

    RecordView view() {
        return inner.view();
    }

    EnclosingRequest outer() {
        return outer;
    }

    HandlerEntry outerEntry() {
        return outerEntry;
    }

    InnerOutcome outcome() {
        return outcome;
    }

    /** Forgets the outer handler before this is pooled, which would keep the classes of its bundle. */
    void forget() {
        outerEntry = null;
    }

    long number() {
        return number;
    }

    int memoryBytes() {
        return inner.memoryBytes();
    }

    int tensorCount() {
        return inner.tensorCount();
    }

    /** Returns whether it creates the value of a reference. */
    boolean isCreating() {
        return creation != null;
    }

    /** Counts the request in at its interceptors; false, and nowhere, while one of them is being replaced. */
    boolean openInterception() {
        return interception.open(view(), true);
    }

    /** Counts the request out of its interceptors, when it ended without them. */
    void endInterception() {
        interception.end();
    }

    boolean isAllowed() {
        return allowed;
    }

    void allow() {
        allowed = true;
    }

    /**
     * Gives the request to a handler that has counted it.
     *
     * @param here whether the dispatching thread runs it at once
     */
    void admit(HandlerEntry chosen, boolean here, boolean mustNotWait) {
        entry = chosen;
        begun.lazySet(here);
        inside = here;
        inline = mustNotWait;
        open.lazySet(number); // before another thread gets this, or on the one that ends it
    }

    /** Ends a request that no handler got. */
    void refuse(Failure why) {
        if (creation != null) {
            creation.createFailed(why);
        }
        home.reports().ended(this, why, false);
        inner.close();
        outer.dispatched().ended();
        outcome.complete(number, null, why, true, false);
    }

    /** Ends a request whose handler has counted it, and does not get it. */
    void refuseAdmitted(Failure why) {
        end(number, null, why, false);
    }

    /** Takes back a request that no handler got, and whose caller gets an exception instead of an outcome. */
    void takeBack() {
        inner.close();
        outer.dispatched().ended();
        outcome.takeBack();
    }

    // ---- its handler

    /** Runs the handler on a thread that the request may have waited for. */
    @Override
    public void run() {
        if (home.isExpired(view())) {
            end(number, null, Failure.expired(view(), home.clock(), "a handler began"), false);
            return;
        }
        HandlerEntry by = entry;
        long sinceNs = home.clock().monotonicNs();
        runHere(home.slots().own());
        by.took(home.clock().monotonicNs() - sinceNs);
    }

    void runHere(HandlerSlot slot) {
        boolean marks = inline && !slot.isInline();
        if (marks) {
            slot.beginInline();
        }
        ContextScope before = slot.context().enter(outcome.context());
        try {
            handle(slot);
        } finally {
            slot.context().leave(before); // whatever foreign code left behind
            if (marks) {
                slot.endInline();
            }
        }
    }

    private void handle(HandlerSlot slot) {
        long mine = number;
        HandlerEntry by = entry;
        if (!inside) {
            begun.set(true);
        }
        InboundMessage message = inner.openFor(by.key(), outer.delivered());
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        ClassLoader wanted = by.contextClassLoader();
        Failure failed;
        if (wanted != before) {
            thread.setContextClassLoader(wanted);
        }
        HandlerCall outside = slot.enter(this);
        inHandler = thread;
        try {
            home.reports().begun(this);
            failed = interception.handle(by, message, outbox, slot.context());
        } catch (Throwable e) { // the boundary around a handler: any exception fails only its own request
            failed = e instanceof RejectedMessageException refusal
                    ? Failure.rejected(home.workerId(), refusal)
                    : home.threw(by, e);
        } finally {
            inHandler = null;
            slot.leave(outside);
            if (wanted != before) {
                thread.setContextClassLoader(before);
            }
        }
        InnerLateResponse deferred = late;
        if (deferred != null && failed == null) {
            deferred.handlerReturned();
            return;
        }
        if (deferred != null) {
            deferred.handlerThrew();
        }
        Failure why = failed == null && response.isEmpty() ? Failure.noResponse(home.workerId(), by) : failed;
        end(mine, response, why, true);
    }

    /**
     * Ends the request with its deferred response.
     *
     * @param failed null when the body is the response
     */
    void completeLate(long mine, OutgoingResponse body, Failure failed) {
        if (open.get() == mine) {
            end(mine, body, interception.afterLate(outcome.context(), body, failed), false);
        }
    }

    // ---- its ends

    /**
     * Ends the request for its handler, and for the outer one if that still waits.
     *
     * @param failed null when what the handler composed is the response
     * @param here whether the handler has just returned on the calling thread, which may call listeners for events
     */
    private void end(long mine, OutgoingResponse composed, Failure failed, boolean here) {
        if (!open.compareAndSet(mine, 0)) {
            response.reset(); // abandoned: this object is not reused
            inner.close();
            return;
        }
        HandlerEntry ended = entry;
        Response given = null;
        Failure why = creation == null ? failed : creation.ended(composed, failed, response);
        if (why == null) {
            try {
                given = DispatchedResponse.take(inner, creation == null ? composed : response, home.workerId());
            } catch (RuntimeException | Error e) { // the heap may be full
                why = Failure.threw(home.workerId(), e);
            }
        }
        response.reset();
        home.reports().ended(this, why, here);
        interception.end();
        inner.close();
        entry = null;
        boolean isInside = here && inside;
        if (isInside) {
            outer.dispatched().endedInside();
        } else {
            home.ended(mine);
            outer.dispatched().ended();
        }
        ended.end(why == null ? Outcome.DONE : Outcome.FAILED);
        boolean mayReuse = outbox.dispatched().isEmpty();
        outcome.complete(mine, given, why, mayReuse, isInside); // last: this object may be reused afterwards
    }

    boolean isOpen(long ofNumber) {
        return open.get() == ofNumber;
    }

    /** Returns whether only a deferred response is missing. */
    boolean isDeferred() {
        InnerLateResponse deferred = late;
        return deferred != null && deferred.isAwaited();
    }

    @Override
    public void abandoned() {
        abandon(number);
    }

    @Override
    public void abandon(long sequence) {
        HandlerEntry ended = entry;
        if (sequence == 0 || ended == null || !open.compareAndSet(sequence, 0)) {
            return;
        }
        try {
            if (!begun.get()
                    || isDeferred()) { // otherwise its thread may still be in the handler: this object is not reused
                inner.close();
            }
            String text = ended.provider() + " did not finish " + ended.key().text() + " before it left";
            Failure why = home.isExpired(view())
                    ? Failure.expired(view(), home.clock(), "its response came")
                    : home.failure(ErrorCode.HANDLER_STUCK, text);
            if (creation != null) {
                creation.createFailed(why);
            }
            home.reports().ended(this, why, false);
            outcome.complete(sequence, null, why, false, false);
        } finally {
            home.ended(sequence);
            interception.end();
            ended.end(Outcome.FAILED);
        }
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
        return open.get() == 0 ? MessageId.NONE : view().id();
    }

    @Override
    public long deadlineNs() {
        return view().deadlineNs();
    }

    @Override
    public boolean isWaiting() {
        return outbox.dispatched().isWaiting();
    }

    // ---- for its outbox

    /** Throws {@link IllegalStateException} unless the calling thread is inside the handler. */
    void requireInHandler() {
        if (inHandler != Thread.currentThread()) {
            throw new IllegalStateException("an outbox takes a response from the thread of its handler, until that"
                    + " returned; outbox.later() gives what any thread may respond with afterwards");
        }
    }

    /** Returns the deferred response; null for none. */
    InnerLateResponse deferred() {
        return late;
    }

    /** Defers the response. */
    InnerLateResponse defer() {
        if (late == null) {
            late = new InnerLateResponse(this, number, home.workerId());
        }
        return late;
    }
}
