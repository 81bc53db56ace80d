package io.waybill.worker.serve;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.ContextScope;
import io.waybill.api.handler.RequestArrival;
import io.waybill.api.handler.SelectivelyBlocking;
import io.waybill.dispatch.ExecutorRefusedException;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.event.EventView;
import io.waybill.handling.DispatchException;
import io.waybill.handling.Failure;
import io.waybill.handling.HandlerInterception;
import io.waybill.handling.InboundMessage;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import io.waybill.worker.poll.HandlerCall;
import io.waybill.worker.poll.HandlerSlot;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Runs the handler of one request: on a thread of its bundle, or on the polling thread. Pooled with the {@link Exchange}.
 *
 * <p><b>Threads.</b> Belongs to the thread that the exchange belongs to.
 */
final class HandlerTask implements HandlerExecutor.Abandonable {

    private final ServingContext context;
    private final Exchange exchange;
    private final Attachments attachments;
    private final RequestOutbox outbox;
    private final InboundMessage message;
    private long unconfirmedNs; // since when it waited for owners of references, on the boot clock; 0: it did not
    private long queuedNs; // on the boot clock; 0: not queued
    private long convertedNs; // wall clock; 0: not converted
    private long begunNs; // wall clock; 0: not begun, or begun on the polling thread, which skips the clock read
    // Written by the handler's thread and by the one that ends its executor, each read by the other.
    private final AtomicBoolean begun = new AtomicBoolean();
    // The polling thread while it runs the handler itself; unlike another thread that ends the request.
    private Thread inlineThread;
    private boolean freedInline;
    private HandlerInterception interception; // null until there are interceptors
    private boolean intercepted; // whether the request has interceptors
    private Failure decided; // the outcome that an interceptor decided; null for none

    HandlerTask(
            ServingContext context,
            Exchange exchange,
            Attachments attachments,
            RequestOutbox outbox,
            InboundMessage message) {
        this.context = context;
        this.exchange = exchange;
        this.attachments = attachments;
        this.outbox = outbox;
        this.message = message;
    }

    /** Begins a request. */
    void open() {
        begunNs = 0;
        unconfirmedNs = 0;
        queuedNs = 0;
        convertedNs = 0;
        begun.lazySet(false);
    }

    /** Returns when the handler began, by the wall clock; 0 when it did not, or when the clock was not read. */
    long begunNs() {
        return begunNs;
    }

    /** Returns the number of the handler's provider; 0 without one. */
    long responder() {
        HandlerEntry by = exchange.entry();
        return by == null ? 0 : by.responder();
    }

    /** Returns when the request passed the stages before its handler, which is about to be called or was. */
    RequestArrival arrival() {
        Clock clock = context.clock();
        long parkedSinceNs = exchange.parkedSinceNs();
        long beganNs = begunNs != 0 ? begunNs : clock.wallNs();
        long confirmedNs = queuedNs != 0 ? clock.wallNsAt(queuedNs) : beganNs;
        long unparkedNs = unconfirmedNs != 0 ? clock.wallNsAt(unconfirmedNs) : confirmedNs;
        long readNs = parkedSinceNs != 0 ? clock.wallNs() - (clock.monotonicNs() - parkedSinceNs) : unparkedNs;
        return new RequestArrival(
                exchange.view().sentNs(),
                readNs,
                unparkedNs,
                confirmedNs,
                beganNs,
                convertedNs != 0 ? convertedNs : beganNs);
    }

    boolean isBegun() {
        return begun.get();
    }

    /** Returns whether the calling thread is the polling thread and goes on to use the exchange, which is free now. */
    boolean keepsInline() {
        boolean keeps = inlineThread == Thread.currentThread();
        if (keeps) {
            freedInline = true;
        }
        return keeps;
    }

    /**
     * Runs on the handler's threads once every owner knows of its reference, or fails when an owner does not confirm in
     * time.
     */
    void runWhenReady() {
        unconfirmedNs = context.reports().nowNs();
        attachments.references().whenReady(failure -> {
            if (failure.isPresent()) {
                exchange.fail(new Failure(
                        failure.get().kind(),
                        failure.get().code(),
                        failure.get().getMessage()));
            } else {
                runElsewhere();
            }
        });
    }

    private void runElsewhere() {
        if (exchange.isExpired()) {
            exchange.failExpired("its references were known to their owners");
            return;
        }
        queued();
        try {
            exchange.entry().executor().execute(this);
        } catch (ExecutorRefusedException e) {
            boolean gone = e.reason() == ExecutorRefusedException.Reason.CLOSED;
            exchange.fail(Failure.of(
                    gone ? ErrorCode.HANDLER_GONE : ErrorCode.BACK_PRESSURE,
                    context.responses().workerId(),
                    e.getMessage()));
        }
    }

    /** Notes that the request is about to be passed to the threads of its handler. */
    void queued() {
        queuedNs = context.reports().nowNs();
    }

    @Override
    public void run() {
        if (exchange.isExpired()) { // while it waited for a thread, or this process was stopped
            exchange.failExpired("a handler began");
        } else {
            HandlerEntry entry = exchange.entry();
            long sinceNs = context.clock().monotonicNs();
            runTask(context.invocations().own());
            entry.took(context.clock().monotonicNs() - sinceNs);
        }
    }

    /**
     * Runs a plain handler on the thread of its bundle that polls; otherwise as {@link #runInline}.
     *
     * @return whether it is free; otherwise another thread owns it by now
     */
    boolean runPolled(HandlerSlot slot) {
        inlineThread = slot.thread();
        freedInline = false;
        queuedNs = slot.polledSinceNs();
        begunNs = context.clock().wallNsAt(queuedNs);
        runTask(slot);
        boolean free = freedInline;
        inlineThread = null;
        return free;
    }

    /**
     * Runs the handler on the thread that polls, which may reuse this object for the next request if it is free then.
     *
     * @return whether it is free; otherwise another thread owns it by now
     */
    boolean runInline() {
        inlineThread = Thread.currentThread();
        freedInline = false;
        HandlerSlot slot = context.invocations().own();
        boolean movedOn;
        slot.beginInline();
        boolean pending = Threads.hideInterrupt();
        try {
            movedOn = runTask(slot);
        } finally {
            Threads.restoreInterrupt(pending);
            slot.endInline();
        }
        if (movedOn) {
            return false;
        }
        boolean free = freedInline;
        inlineThread = null;
        return free;
    }

    /**
     * Runs the handler, and reports its response when the request has ended.
     *
     * @return whether this belongs to another thread now, because the handler blocks for this request
     */
    private boolean runTask(HandlerSlot slot) {
        ContextScope before = slot.context().enter(CallContext.EMPTY);
        slot.beginTask();
        try {
            return run(slot);
        } finally {
            slot.endTask(context.reports());
            slot.context().leave(before); // whatever foreign code left behind
        }
    }

    /** Calls the handler and sends its response, unless it blocks for this request and this thread polls. Returns whether that is so. */
    private boolean run(HandlerSlot slot) {
        if (inlineThread == null) {
            begunNs = context.clock().wallNs();
        }
        begun.lazySet(true);
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        ClassLoader wanted = exchange.entry().contextClassLoader();
        if (wanted != before) {
            thread.setContextClassLoader(wanted);
        }
        if (inlineThread == null) { // the polling thread has just done so
            context.faults().surface();
        }
        boolean blocks = false;
        Throwable thrown = null;
        try {
            blocks = !handle(slot);
        } catch (Throwable e) { // the boundary around a handler: any exception fails only its own request
            thrown = e;
        } finally {
            if (wanted != before) {
                thread.setContextClassLoader(before);
            }
        }
        // outside the boundary: from here on the request ends, once
        if (blocks) {
            inlineThread = null;
            begun.lazySet(false);
            runElsewhere();
            return true;
        }
        if (decided != null) {
            failDecided();
        } else if (thrown == null) {
            returned();
        } else {
            threw(thrown);
        }
        return false;
    }

    /** Returns false when the handler was not called, because it blocks and this thread polls. */
    private boolean handle(HandlerSlot slot) throws RejectedMessageException {
        slot.context().enter(exchange.view().context()); // left with the task
        ContextScope ofRequest = slot.context().mark();
        HandlerCall before = slot.enter(exchange);
        outbox.enter();
        try {
            if (attachments.isForDevice()) { // here, and not on the poller: it may be slow
                attachments.convert();
                message.tensors(attachments.tensors());
                convertedNs = context.clock().wallNs();
            }
            if (slot.isInline() && blocks()) {
                return false;
            }
            if (!context.reports().isEmpty()) {
                report(slot);
            }
            slot.context().leave(ofRequest); // whatever converters and listeners left behind
            if (intercepted) {
                decided = interception.handle(exchange.entry(), message, outbox, slot.context());
            } else {
                exchange.entry().handler().handle(message, outbox);
            }
            return true;
        } finally {
            outbox.leave();
            slot.leave(before);
        }
    }

    private boolean blocks() {
        SelectivelyBlocking selects = exchange.entry().selects();
        return selects != null && selects.blocks(message);
    }

    private void report(HandlerSlot slot) {
        if (!context.reports().wantsBeforeHandlers()) {
            return;
        }
        EventView event = slot.event(context.reports());
        context.reports().begun(event, exchange.view(), exchange.parkedSinceNs(), queuedNs, attachments.isForDevice());
    }

    /**
     * Counts the request in at its interceptors, before a handler has counted it: from here on an update waits for it. False, and nowhere, while one of
     * them is being replaced.
     */
    boolean openInterception() {
        intercepted = false;
        if (context.interceptors().table().isEmpty()) {
            return true;
        }
        if (interception == null) {
            interception = new HandlerInterception(
                    context.interceptors(), context.responses().workerId());
        }
        intercepted = interception.open(exchange.view(), isNested());
        return intercepted;
    }

    /** Returns whether a request in flight, in any worker, may wait for this one. */
    boolean isNested() {
        return exchange.view().parent() != MessageId.NONE;
    }

    /**
     * Calls the interceptors of a request whose response was deferred.
     *
     * @param failure null when the body is the response
     * @return the failure of the request; null when the body is the response
     */
    Failure afterLate(ResponseBody body, Failure failure) {
        return intercepted ? interception.afterLate(exchange.view().context(), body.content(), failure) : failure;
    }

    /** Counts the request out of its interceptors, when it ended without them. */
    void endInterception() {
        if (intercepted) {
            interception.end();
        }
    }

    private void failDecided() {
        Failure failure = decided;
        decided = null;
        DeferredResponse late = outbox.late();
        if (late != null) {
            late.handlerThrew();
        }
        exchange.fail(failure);
    }

    private void returned() {
        DeferredResponse late = outbox.late();
        if (late != null) {
            late.handlerReturned();
        } else if (outbox.body().isEmpty()) {
            context.handlerErrors().noResponse(exchange.entry());
            exchange.fail(Failure.noResponse(context.responses().workerId(), exchange.entry()));
        } else if (attachments.areCut()) {
            exchange.failCut();
        } else {
            exchange.complete(outbox.body());
        }
    }

    private void threw(Throwable e) {
        DeferredResponse late = outbox.late();
        if (late != null) {
            late.handlerThrew();
        }
        if (e instanceof RejectedMessageException refusal) {
            exchange.fail(Failure.rejected(context.responses().workerId(), refusal));
        } else if (attachments.areCut()) {
            exchange.failCut();
        } else {
            if (!(e instanceof DispatchException)) {
                context.handlerErrors().log(exchange.entry(), exchange.view().id(), exchange.link(), e);
            }
            exchange.fail(Failure.threw(context.responses().workerId(), e));
        }
    }

    @Override
    public void abandoned() {
        exchange.abandonAdmitted();
    }
}
