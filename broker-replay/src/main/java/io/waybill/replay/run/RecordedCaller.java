package io.waybill.replay.run;

import io.waybill.api.CallException;
import io.waybill.api.Caller;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import java.util.concurrent.CompletableFuture;

/**
 * Caller that gets recorded responses. A response is available at once; one that is not recorded never arrives.
 * Thread-safe.
 */
record RecordedCaller(ReplayOutbox outbox) implements Caller {

    @Override
    public Response call(Request request) {
        return outbox.call(request);
    }

    @Override
    public CompletableFuture<Response> callAsync(Request request) {
        NestedCall asked = outbox.match(request);
        CompletableFuture<Response> response = new CompletableFuture<>();
        if (asked.response().isPresent()) {
            try {
                response.complete(outbox.response(asked));
            } catch (CallException e) {
                response.completeExceptionally(e);
            }
        }
        return response;
    }

    @Override
    public long call(Request request, ResponseListener listener) {
        NestedCall asked = outbox.match(request);
        if (asked.response().isPresent()) {
            deliver(asked, listener);
        }
        return asked.call().id();
    }

    private void deliver(NestedCall asked, ResponseListener listener) {
        Response response;
        try {
            response = outbox.response(asked);
        } catch (CallException e) {
            listener.onFailure(e);
            return;
        }
        try (response) {
            listener.onResponse(response);
        }
    }
}
