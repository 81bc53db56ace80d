package io.waybill.broker;

import io.waybill.api.Caller;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import java.util.concurrent.CompletableFuture;

/** Calls of an owner, until its broker is revoked. Thread-safe. */
final class OwnedCaller implements Caller {

    private final Caller caller;
    private final OwnedBroker broker;
    private final InFlightCalls calls;

    OwnedCaller(Caller caller, OwnedBroker broker, InFlightCalls calls) {
        this.caller = caller;
        this.broker = broker;
        this.calls = calls;
    }

    @Override
    public Response call(Request request) {
        InFlightCalls.requireNotRevoked(broker.whyRevoked());
        return caller.call(request);
    }

    @Override
    public CompletableFuture<Response> callAsync(Request request) {
        return calls.async(() -> {
            InFlightCalls.requireNotRevoked(broker.whyRevoked());
            return caller.callAsync(request);
        });
    }

    @Override
    public long call(Request request, ResponseListener listener) {
        InFlightCalls.requireNotRevoked(broker.whyRevoked());
        LeasedListener leased = calls.lease(listener);
        boolean sent = false;
        try {
            long id = caller.call(request, leased);
            sent = true;
            return id;
        } finally {
            if (!sent) {
                leased.take();
            }
        }
    }
}
