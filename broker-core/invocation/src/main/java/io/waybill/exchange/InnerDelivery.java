package io.waybill.exchange;

import io.waybill.api.CallException;
import io.waybill.api.Response;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.ContextScope;
import io.waybill.api.context.ThreadContext;
import io.waybill.dispatch.ExecutorRefusedException;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerExecutor;
import java.util.concurrent.CompletableFuture;

/**
 * Delivery of the outcome of a message that a handler dispatched: completes the future on a thread of that handler's
 * bundle, because its stages are the bundle's; or on the thread that has dispatched it, which for a non-blocking
 * handler is one that polls.
 *
 * @param response null when it failed
 * @param failure null when there is a response
 * @param to handler that dispatched the message
 * @param context context that is current for the stages
 */
record InnerDelivery(
        CompletableFuture<Response> future,
        Response response,
        CallException failure,
        HandlerEntry to,
        CallContext context)
        implements HandlerExecutor.Abandonable {

    /**
     * Completes the future; at once when this is the thread that dispatched the message, or the bundle has no thread
     * for it.
     */
    void deliver(boolean here) {
        if (here) {
            run();
            return;
        }
        try {
            to.executor().execute(this);
        } catch (ExecutorRefusedException e) {
            run();
        }
    }

    @Override
    public void run() {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        ThreadContext current = ThreadContext.own();
        ContextScope outside = current.enter(context);
        thread.setContextClassLoader(to.contextClassLoader());
        try {
            if (failure != null) {
                future.completeExceptionally(failure);
            } else if (!future.complete(response)) { // cancelled
                response.close();
            }
        } finally {
            thread.setContextClassLoader(before);
            current.leave(outside);
        }
    }

    @Override
    public void abandoned() {
        if (response != null && !future.isDone()) {
            response.close();
        }
    }
}
