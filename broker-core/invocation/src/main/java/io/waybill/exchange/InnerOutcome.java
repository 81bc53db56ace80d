package io.waybill.exchange;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Response;
import io.waybill.api.context.CallContext;
import io.waybill.handling.DispatchException;
import io.waybill.handling.Failure;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Outcome that the dispatching handler gets, as the result of a waiting thread or through a future. Pooled with the
 * {@link InnerRequest}.
 *
 * <p><b>Threads.</b> Any thread may set the outcome, and the first one does; the rest belongs to the dispatching
 * thread.
 */
final class InnerOutcome {

    private final InnerRequest request;
    private final InnerRequests home;
    // Number of the request while it has no outcome; its negative while a thread sets the outcome; 0 afterwards.
    private final AtomicLong awaited = new AtomicLong();
    private long number; // number of this use of the request; 0 before the first
    private CompletableFuture<Response> future; // null when the dispatching thread waits
    private CallContext context = CallContext.EMPTY; // context of the dispatching thread
    private Thread
            dispatcher; // thread that is inside the dispatching method, or was; null once another may begin the request
    // Published by awaited.
    private Response result;
    private Failure failure;
    private boolean reusable;

    InnerOutcome(InnerRequest request, InnerRequests home) {
        this.request = request;
        this.home = home;
    }

    /**
     * Begins a request of the calling thread, and returns its number.
     *
     * @param toComplete null when that thread waits
     * @param current the context of that thread
     */
    long open(CompletableFuture<Response> toComplete, CallContext current) {
        number = home.pool().number(number);
        future = toComplete;
        context = current;
        dispatcher = home.context().threads().current();
        result = null;
        failure = null;
        reusable = false;
        awaited.lazySet(number); // before another thread gets the request
        return number;
    }

    /**
     * Returns the context of the dispatching thread, which is current for the handler and for the stages of the future.
     */
    CallContext context() {
        return context;
    }

    /** Withdraws a request without an outcome. */
    void takeBack() {
        awaited.set(0);
    }

    /** Returns whether the dispatching thread waits. */
    boolean isBlocking() {
        return future == null;
    }

    /**
     * Returns whether the calling thread has dispatched it: the thread is inside the dispatching method, or was left
     * the request by itself.
     */
    boolean isOnDispatcher() {
        return dispatcher == home.context().threads().current();
    }

    /** Marks that the dispatching thread leaves. */
    void dispatcherLeaves() {
        dispatcher = null;
    }

    boolean isAwaited(long mine) {
        return awaited.get() == mine;
    }

    /**
     * Returns whether another thread is setting the outcome of the waiting thread, or no thread has set it. For the
     * waiting thread.
     */
    boolean isMissing() {
        return awaited.get() != 0;
    }

    /**
     * Sets the outcome, the first time; closes a response that is too late.
     *
     * @param given null when it failed
     * @param why null when there is a response
     * @param mayReuse whether no other thread uses the request any more
     * @param inside whether the dispatching method has not returned since it ran the handler: no other thread sets the
     * outcome then
     */
    void complete(long mine, Response given, Failure why, boolean mayReuse, boolean inside) {
        if (!inside && !awaited.compareAndSet(mine, -mine)) {
            if (given != null) {
                given.close();
            }
            return;
        }
        if (future == null) {
            Thread waits = dispatcher;
            result = given;
            failure = why;
            reusable = mayReuse;
            if (isOnDispatcher()) { // it need not be woken, which takes longer than everything else here
                awaited.lazySet(0);
            } else {
                awaited.set(0);
                home.context().threads().unpark(waits);
            }
            return;
        }
        CallException error =
                why == null ? null : new DispatchException(why, request.view().id());
        InnerDelivery delivery = new InnerDelivery(future, given, error, request.outerEntry(), context);
        boolean here = isOnDispatcher();
        awaited.set(0);
        if (mayReuse) {
            home.pool().give(request);
        }
        delivery.deliver(here);
    }

    /** Fails the request for the outer handler because its deadline passed; the inner handler continues. */
    void expire(long mine) {
        if (isAwaited(mine)) {
            complete(
                    mine,
                    null,
                    Failure.expired(request.view(), home.context().clock(), "its response came"),
                    false,
                    false);
        }
    }

    /** Fails the request for the outer handler, whose thread was interrupted. */
    void interrupted(long mine) {
        String text = "the thread of the handler that dispatched it was interrupted";
        complete(mine, null, home.failure(ErrorCode.HANDLER_GONE, text), false, false);
    }

    /**
     * Returns the outcome to the waiting thread, and frees the request.
     *
     * @param stack stack of that thread
     * @throws CallException the failure
     */
    Response take(HandlerStack stack) {
        Response given = result;
        Failure why = failure;
        long id = request.view().id();
        result = null;
        if (reusable) {
            home.pool().give(request, stack);
        }
        if (why != null) {
            throw new DispatchException(why, id);
        }
        return given;
    }
}
