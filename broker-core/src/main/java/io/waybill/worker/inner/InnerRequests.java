package io.waybill.worker.inner;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.AccessPolicies;
import io.waybill.dispatch.ExecutorRefusedException;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerTable;
import io.waybill.dispatch.HandlerTable.Absence;
import io.waybill.dispatch.StuckSettings;
import io.waybill.handling.CallReports;
import io.waybill.handling.DispatchException;
import io.waybill.handling.Failure;
import io.waybill.handling.Route;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import io.waybill.intercept.Interceptors;
import io.waybill.wire.RecordView;
import io.waybill.worker.poll.HandlerSlot;
import io.waybill.worker.poll.HandlerSlots;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;

/**
 * Finds the handlers of messages that other handlers dispatch, runs them, and keeps those that wait: for a handler that is replaced, an
 * access policy, or a thread.
 *
 * <p>A blocking inner handler runs on the threads of its bundle. It runs on the dispatching thread if that belongs to the same bundle, or
 * if the bundle takes no more tasks: so handlers that wait for each other can't exhaust threads.
 *
 * <p><b>Threads.</b> Any.
 */
public final class InnerRequests {

    private static final long MAX_WAIT_MS = 50; // not longer: the clock may be one that a test moves

    private final int workerId;
    private final HandlerRegistry registry;
    private final HandlerRegistry ownHandlers;
    private final Interceptors<HandlerInterceptor> interceptors;
    private final HandlerSlots slots;
    private final Clock clock;
    private final InnerAccess access;
    private final InnerReports reports;
    private final BiConsumer<HandlerEntry, Throwable> errors;
    private final InnerPool pool = new InnerPool(() -> new InnerRequest(this));
    private final InnerFlights flights;
    private final Object changed = new Object(); // notified when handlers, policies or threads changed

    /**
     * Creates an object for one worker.
     *
     * @param uid owner of all files that requests are read from
     * @param ownHandlers those of the worker itself
     * @param errors logs what handlers throw
     */
    public InnerRequests(
            int workerId,
            long uid,
            HandlerRegistry registry,
            HandlerRegistry ownHandlers,
            Interceptors<HandlerInterceptor> interceptors,
            HandlerSlots slots,
            Clock clock,
            StuckSettings stuck,
            BiConsumer<HandlerEntry, Throwable> errors) {
        this.workerId = workerId;
        this.registry = registry;
        this.ownHandlers = ownHandlers;
        this.interceptors = interceptors;
        this.slots = slots;
        this.clock = clock;
        this.reports = new InnerReports(new CallReports(registry.events(), clock));
        this.access = new InnerAccess(uid, slots, clock);
        this.flights = new InnerFlights(this, registry, clock, stuck);
        this.errors = errors;
    }

    /** Wakes those that wait for a handler, for room, or for a policy. */
    public void signal() {
        synchronized (changed) {
            changed.notifyAll();
        }
    }

    // ---- dispatching

    /** Dispatches a message, and waits for its outcome; see {@link Outbox#dispatch}. */
    public Response dispatch(
            EnclosingRequest outer,
            MessageType type,
            ByteBuffer payload,
            List<Tensor> tensors,
            List<? extends RRef> references) {
        requireDepth(outer, type);
        HandlerSlot slot = slots.own();
        InnerRequest request = pool.take(slot);
        request.open(outer, slot, null, type, payload, tensors, references);
        outer.dispatched().waits(true);
        try {
            beginWaiting(request, slot);
            await(request);
        } finally {
            outer.dispatched().waits(false);
        }
        return request.outcome().take(slot);
    }

    /** Dispatches a message; see {@link Outbox#dispatchAsync}. */
    public CompletableFuture<Response> dispatchAsync(
            EnclosingRequest outer,
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
        HandlerSlot slot = slots.own();
        InnerRequest request = pool.take(slot);
        request.open(outer, slot, future, type, payload, tensors, references);
        long number = request.number();
        if (!begin(request, slot, registry.policies().current())) {
            request.outcome().dispatcherLeaves();
            flights.park(request, number);
        } else if (!future.isDone()) {
            flights.track(request, number);
        }
        return future;
    }

    private void requireDepth(EnclosingRequest outer, MessageType type) {
        if (outer.depth() >= Outbox.MAX_DEPTH) {
            Failure tooDeep = Failure.tooDeep(workerId, outer.path() + " > " + type);
            throw new DispatchException(tooDeep, outer.view().id());
        }
    }

    /** Begins a request whose dispatching thread waits. */
    private void beginWaiting(InnerRequest request, HandlerSlot slot) {
        if (tryBegin(request, slot)) {
            return;
        }
        long sinceNs = clock.monotonicNs();
        boolean begun = false;
        while (!begun) {
            if (slot.isInline()) {
                request.takeBack();
                throw Failure.mustNotWait();
            }
            if (flights.isTooLong(sinceNs)) {
                request.refuse(flights.waitedTooLong(request));
                return;
            }
            try {
                synchronized (changed) {
                    changed.wait(MAX_WAIT_MS);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                request.refuse(failure(ErrorCode.HANDLER_GONE, "the dispatching thread was interrupted"));
                return;
            }
            begun = tryBegin(request, slot);
        }
    }

    private boolean tryBegin(InnerRequest request, HandlerSlot slot) {
        try {
            return begin(request, slot, registry.policies().current());
        } catch (IllegalStateException e) { // a non-blocking handler must not wait
            request.takeBack();
            throw e;
        }
    }

    /** Waits for the outcome. */
    private void await(InnerRequest request) {
        long number = request.number();
        long deadlineNs = request.view().deadlineNs();
        if (request.outcome().isAwaited(number)) {
            flights.track(request, number);
        }
        while (request.outcome().isMissing()) {
            long leftNs = deadlineNs == 0 ? Long.MAX_VALUE : deadlineNs - clock.bootNs();
            if (leftNs <= 0) {
                request.outcome().expire(number);
            } else if (Thread.interrupted()) {
                request.outcome().interrupted(number);
                Thread.currentThread().interrupt();
            } else {
                LockSupport.parkNanos(request, Math.min(leftNs, MAX_WAIT_MS * 1_000_000));
            }
        }
    }

    // ---- finding a handler

    /**
     * Gives a request to its handler, or refuses it; false when it has to wait.
     *
     * @param slot of the calling thread
     * @param policies to ask, if they have not allowed it; null for none
     */
    boolean begin(InnerRequest request, HandlerSlot slot, AccessPolicies.Required policies) {
        RecordView view = request.view();
        if (!slot.isInline() && isExpired(view)) { // for a non-blocking handler this was found when it began
            request.refuse(Failure.expired(view, clock, "a handler began"));
            return true;
        }
        if (!Route.isNamed(view)) {
            String text =
                    "the payload of a " + view.type() + " begins with the operation's name, and this one does not";
            request.refuse(failure(ErrorCode.MALFORMED_BODY, text));
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
        return find(request, slot, view);
    }

    private boolean find(InnerRequest request, HandlerSlot slot, RecordView view) {
        while (true) {
            HandlerTable table = Route.isOfReferences(view.typeCode()) ? ownHandlers.table() : registry.table();
            HandlerEntry entry = Route.find(table, view);
            if (entry == null && Route.absence(table, view) == Absence.LEFT) {
                HandlerEntry leaving = leavingWith(request, table);
                if (leaving == null || !mayRun(request, slot, leaving) || !request.openInterception()) {
                    return false;
                }
                if (leaving.beginLeaving()) {
                    return run(request, slot, leaving);
                }
                request.endInterception();
                return false;
            }
            if (entry == null) {
                request.refuse(Failure.unknown(workerId, Route.key(table, view), table));
                return true;
            }
            if (entry.isOutOfService()) {
                request.refuse(Failure.outOfService(workerId, entry));
                return true;
            }
            if (!mayRun(request, slot, entry)) {
                return false;
            }
            if (!request.openInterception()) {
                return false;
            }
            if (entry.begin()) {
                return run(request, slot, entry);
            }
            request.endInterception();
            Thread.onSpinWait(); // withdrawn between lookup and begin: the new table follows
        }
    }

    /**
     * Returns the handler that leaves together with the outer handler, so that their drain waits for both; null for none.
     */
    private HandlerEntry leavingWith(InnerRequest request, HandlerTable table) {
        HandlerEntry outer = request.outerEntry();
        return outer.isWithdrawn() ? registry.leaving(Route.key(table, request.view()), outer) : null;
    }

    /** Returns whether there is a thread for the handler. */
    private boolean mayRun(InnerRequest request, HandlerSlot slot, HandlerEntry entry) {
        boolean onDispatcher = request.outcome().isOnDispatcher();
        if (onDispatcher && entry.neverBlocks()) {
            return true;
        }
        boolean inline = slot.isInline();
        if (onDispatcher && request.outcome().isBlocking() && inline) {
            throw Failure.mustNotWait();
        }
        return onDispatcher && !inline || entry.executor().hasRoom();
    }

    /** Runs a handler that has counted the request. */
    private boolean run(InnerRequest request, HandlerSlot slot, HandlerEntry entry) {
        boolean onDispatcher = request.outcome().isOnDispatcher();
        boolean nonBlocking = entry.neverBlocks(); // also if it blocks a poller: the dispatching handler may not wait
        boolean isOwnBundle = entry.executor() == request.outerEntry().executor();
        boolean here = onDispatcher
                && (nonBlocking
                        || !slot.isInline()
                                && (request.outcome().isBlocking() && isOwnBundle
                                        || !entry.executor().hasRoom()));
        request.admit(entry, here, here && nonBlocking);
        if (here) {
            boolean pending = Threads.hideInterrupt(); // of the dispatching handler
            request.runHere(slot);
            Threads.restoreInterrupt(pending);
            return true;
        }
        if (!request.outcome().isBlocking() && slot.leave(entry, request)) {
            return true;
        }
        try {
            entry.executor().execute(request);
        } catch (ExecutorRefusedException e) {
            request.refuseAdmitted(failure(
                    e.reason() == ExecutorRefusedException.Reason.CLOSED
                            ? ErrorCode.HANDLER_GONE
                            : ErrorCode.BACK_PRESSURE,
                    e.getMessage()));
        }
        return true;
    }

    /** Completes what is due, and begins what waited. By the housekeeper. */
    public void look() {
        access.look();
        flights.look();
    }

    // ---- for its requests

    int workerId() {
        return workerId;
    }

    Interceptors<HandlerInterceptor> interceptors() {
        return interceptors;
    }

    HandlerSlots slots() {
        return slots;
    }

    Clock clock() {
        return clock;
    }

    InnerReports reports() {
        return reports;
    }

    boolean isExpired(RecordView view) {
        return view.deadlineNs() != 0 && clock.bootNs() >= view.deadlineNs();
    }

    /** Creates an error of the broker. */
    Failure failure(ErrorCode code, String text) {
        return new Failure(ErrorKind.UNKNOWN_ERROR, code, Failure.nodeError(workerId, text));
    }

    /** Logs what a handler threw, and returns the failure that it is. */
    Failure threw(HandlerEntry entry, Throwable thrown) {
        if (!(thrown instanceof DispatchException)) {
            errors.accept(entry, thrown);
        }
        return Failure.threw(workerId, thrown);
    }

    /** Notes that the handler of a request ended. */
    void ended(long number) {
        flights.ended(number);
    }

    InnerPool pool() {
        return pool;
    }
}
