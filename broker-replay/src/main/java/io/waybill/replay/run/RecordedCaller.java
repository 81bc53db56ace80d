package io.waybill.replay.run;

import io.waybill.api.CallException;
import io.waybill.api.Caller;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.context.ContextScope;
import io.waybill.api.context.ThreadContext;
import java.util.concurrent.CompletableFuture;

/**
 * Caller that returns recorded responses. A response is available immediately; an unrecorded one never arrives.
 * Thread-safe.
 */
record RecordedCaller(ReplayServices services) implements Caller {

    @Override
    public Response call(Request request) {
        return services.call(request);
    }

    @Override
    public CompletableFuture<Response> callAsync(Request request) {
        ReplayedNestedCall asked;
        try {
            asked = services.ask(request, false);
        } catch (CallException e) {
            return CompletableFuture.failedFuture(e);
        }
        CompletableFuture<Response> response = new CompletableFuture<>();
        if (asked.hasOutcome()) {
            try {
                response.complete(asked.response());
            } catch (CallException e) {
                response.completeExceptionally(e);
            }
        }
        return response;
    }

    @Override
    public long call(Request request, ResponseListener listener) {
        ReplayedNestedCall asked = services.ask(request, false);
        if (asked.hasOutcome()) {
            deliver(asked, listener);
        }
        return asked.id();
    }

    /** Calls the listener, and closes scopes that it leaves open. */
    private static void deliver(ReplayedNestedCall asked, ResponseListener listener) {
        ThreadContext thread = ThreadContext.own();
        ContextScope before = thread.mark();
        try {
            notify(asked, listener);
        } finally {
            thread.leave(before);
        }
    }

    private static void notify(ReplayedNestedCall asked, ResponseListener listener) {
        Response response;
        try {
            response = asked.response();
        } catch (CallException e) {
            listener.onFailure(e);
            return;
        }
        try (response) {
            listener.onResponse(response);
        }
    }
}
