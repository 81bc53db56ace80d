package io.waybill.exchange;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.AccessPolicies;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.StuckSettings;
import io.waybill.handling.DispatchException;
import io.waybill.handling.Failure;
import io.waybill.host.Threads;
import io.waybill.wire.RecordView;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Finds the handlers of messages that other handlers dispatch, runs them, and keeps waiting messages: for a handler
 * that is replaced, an access policy, or a thread.
 *
 * <p>A blocking inner handler runs on the threads of its bundle. It runs on the dispatching thread if that belongs to
 * the same bundle, or if the bundle accepts no more tasks: so handlers that wait for each other can't exhaust threads.
 *
 * <p><b>Threads.</b> Any.
 */
public final class InnerRequests {

    private static final long MAX_WAIT_MS = 50; // bounded: the clock may be one that a test moves

    private final ExchangeContext context;
    private final HandlerLookup handlers;
    private final boolean isSequential;
    private final HandlerSearch search;
    private final InnerAccess access;
    private final InnerPool pool = new InnerPool(() -> new InnerRequest(this));
    private final InnerFlights flights;
    private final Object changed = new Object(); // notified when handlers, policies or threads changed

    /**
     * Creates an object for one worker, or for a replay.
     *
     * @param uid owner of all files that requests are read from
     * @param isSequential whether each message is handled on the thread that dispatches it
     */
    public InnerRequests(
            ExchangeContext context, HandlerLookup handlers, StuckSettings stuck, long uid, boolean isSequential) {
        this.context = context;
        this.handlers = handlers;
        this.isSequential = isSequential;
        this.search = new HandlerSearch(handlers, context);
        this.access = new InnerAccess(uid, context);
        this.flights = new InnerFlights(this, handlers.registry(), context.clock(), stuck);
    }

    /** Wakes threads that wait for a handler, for room, or for a policy. */
    public void signal() {
        synchronized (changed) {
            changed.notifyAll();
        }
    }

    // ---- dispatching

    /** Dispatches a message, and waits for its outcome; see {@link Outbox#dispatch}. */
    public Response dispatch(
            Exchange outer,
            MessageType type,
            ByteBuffer payload,
            List<Tensor> tensors,
            List<? extends RRef> references) {
        requireDepth(outer, type);
        HandlerStack stack = context.stacks().get();
        InnerRequest request = pool.take(stack);
        request.open(outer, stack.context().current(), null, type, payload, tensors, references);
        outer.dispatched().waits(true);
        try {
            beginWaiting(request, stack);
            await(request);
        } finally {
            outer.dispatched().waits(false);
        }
        return request.outcome().take(stack);
    }

    /** Dispatches a message; see {@link Outbox#dispatchAsync}. */
    public CompletableFuture<Response> dispatchAsync(
            Exchange outer,
            MessageType type,
            ByteBuffer payload,
            List<Tensor> tensors,
            List<? extends RRef> references) {
        CompletableFuture<Response> future = new CompletableFuture<>();
        try {
            requireDepth(outer, type);
        } catch (DispatchException e) {
            future.completeExceptionally(e);
            return future;
        }
        HandlerStack stack = context.stacks().get();
        InnerRequest request = pool.take(stack);
        request.open(outer, stack.context().current(), future, type, payload, tensors, references);
        long number = request.number();
        if (!begin(request, stack, handlers.registry().policies().current())) {
            request.outcome().dispatcherLeaves();
            flights.park(request, number);
        } else if (!future.isDone()) {
            flights.track(request, number);
        }
        return future;
    }

    private void requireDepth(Exchange outer, MessageType type) {
        RequestSource of = outer.source();
        if (of.depth() >= Outbox.MAX_DEPTH) {
            Failure tooDeep = Failure.tooDeep(context.workerId(), of.path() + " > " + type);
            throw new DispatchException(tooDeep, of.view().id());
        }
    }

    /** Begins a request whose dispatching thread waits. */
    private void beginWaiting(InnerRequest request, HandlerStack stack) {
        if (tryBegin(request, stack)) {
            return;
        }
        long sinceNs = context.clock().monotonicNs();
        boolean begun = false;
        while (!begun) {
            if (stack.isInline()) {
                request.takeBack();
                throw Failure.mustNotWait();
            }
            if (flights.isTooLong(sinceNs)) {
                request.refuse(flights.waitedTooLong(request));
                return;
            }
            try {
                synchronized (changed) {
                    context.threads().waitOn(changed, MAX_WAIT_MS);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                request.refuse(failure(ErrorCode.HANDLER_GONE, "the dispatching thread was interrupted"));
                return;
            }
            begun = tryBegin(request, stack);
        }
    }

    private boolean tryBegin(InnerRequest request, HandlerStack stack) {
        try {
            return begin(request, stack, handlers.registry().policies().current());
        } catch (IllegalStateException e) { // a non-blocking handler must not wait
            request.takeBack();
            throw e;
        }
    }

    /** Waits for the outcome. */
    private void await(InnerRequest request) {
        long number = request.number();
        long deadlineNs = request.deadlineNs();
        if (request.outcome().isAwaited(number)) {
            flights.track(request, number);
        }
        while (request.outcome().isMissing()) {
            long leftNs = deadlineNs == 0
                    ? Long.MAX_VALUE
                    : deadlineNs - context.clock().bootNs();
            if (leftNs <= 0) {
                request.outcome().expire(number);
            } else if (Thread.interrupted()) {
                request.outcome().interrupted(number);
                Thread.currentThread().interrupt();
            } else {
                context.threads().park(request, Math.min(leftNs, MAX_WAIT_MS * 1_000_000));
            }
        }
    }

    // ---- finding a handler

    /**
     * Gives a request to its handler, or refuses it; returns false when it has to wait.
     *
     * @param stack of the calling thread
     * @param policies to ask, if they have not allowed it; null for none
     */
    boolean begin(InnerRequest request, HandlerStack stack, AccessPolicies.Required policies) {
        RecordView view = request.view();
        if (!stack.isInline() && request.exchange().isExpired()) { // checked when it began, for a non-blocking handler
            request.refuse(Failure.expired(view, context.clock(), "a handler began"));
            return true;
        }
        if (view.type().isCreating() && !request.isCreating()) {
            String text = "the message that it was inside of has no reference to the value that it creates";
            request.refuse(failure(ErrorCode.MALFORMED_BODY, text));
            return true;
        }
        if (policies != null && !request.isAllowed()) {
            if (!policies.isComplete()) {
                return false;
            }
            String refused = access.ask(request, policies);
            if (refused != null) {
                request.refuse(failure(ErrorCode.ACCESS_DENIED, refused));
                return true;
            }
            request.allow();
        }
        HandlerSearch.Found found = search.find(request.seeks(stack));
        if (found == HandlerSearch.Found.COUNTED) {
            run(request, stack);
        }
        return found != HandlerSearch.Found.WAITS;
    }

    /** Runs a handler that has counted the request. */
    private void run(InnerRequest request, HandlerStack stack) {
        HandlerEntry entry = request.exchange().entry();
        boolean onDispatcher = request.outcome().isOnDispatcher();
        boolean nonBlocking = entry.neverBlocks(); // also if it blocks a poller: the dispatching handler may not wait
        boolean isOwnBundle = entry.executor() == request.outerEntry().executor();
        boolean here = onDispatcher
                && (isSequential
                        || nonBlocking
                        || !stack.isInline()
                                && (request.outcome().isBlocking() && isOwnBundle
                                        || !entry.executor().hasRoom()));
        request.admit(entry, here);
        if (here) {
            runHere(request, stack, nonBlocking && !stack.isInline());
        } else if (request.outcome().isBlocking() || !stack.keepTask(entry, request.exchange())) {
            request.exchange().queue(request.exchange());
        }
    }

    /**
     * Runs the handler on the dispatching thread. @param marks whether that thread must not wait in the meantime, and
     * might otherwise
     */
    private static void runHere(InnerRequest request, HandlerStack stack, boolean marks) {
        boolean pending = Threads.hideInterrupt(); // interrupt of the dispatching handler
        if (marks) {
            stack.beginInline();
        }
        try {
            request.exchange().call(stack);
        } finally {
            if (marks) {
                stack.endInline();
            }
            Threads.restoreInterrupt(pending);
        }
    }

    /** Completes due requests, and begins waiting ones. By the housekeeper. */
    public void look() {
        access.look();
        flights.look();
    }

    // ---- methods for its requests

    ExchangeContext context() {
        return context;
    }

    /** Creates a failure of the broker. */
    Failure failure(ErrorCode code, String text) {
        return Failure.of(code, context.workerId(), text);
    }

    /** Notes that the handler of a request ended. */
    void ended(long number) {
        flights.ended(number);
    }

    InnerPool pool() {
        return pool;
    }

    HandlerRegistry registry() {
        return handlers.registry();
    }

    /** Returns whether each message is handled on the thread that dispatches it. */
    boolean isSequential() {
        return isSequential;
    }
}
