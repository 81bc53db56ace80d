package io.waybill.exchange;

import io.waybill.api.Body;
import io.waybill.api.Caller;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.Rpc;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.RequestArrival;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.handling.ComposedOutbox;
import io.waybill.handling.OutgoingResponse;
import java.nio.ByteBuffer;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.random.RandomGenerator;

/**
 * Outbox of one request: the response that its handler composes, the messages that it dispatches, and the services that
 * it uses.
 *
 * <p><b>Threads.</b> Belongs to the thread of the handler while it runs.
 */
final class ExchangeOutbox implements ComposedOutbox {

    private final Exchange exchange;
    private final InnerRequests inner;
    private final OutgoingResponse response;

    ExchangeOutbox(Exchange exchange, InnerRequests inner, OutgoingResponse response) {
        this.exchange = exchange;
        this.inner = inner;
        this.response = response;
    }

    @Override
    public OutgoingResponse composed() {
        return response;
    }

    @Override
    public boolean isDeferred() {
        return exchange.late() != null;
    }

    private OutgoingResponse mine() {
        exchange.requireInHandler();
        return response;
    }

    private HandlerServices services() {
        return exchange.source().services();
    }

    @Override
    public Body response() {
        return mine().fields();
    }

    @Override
    public void respond(Value value) {
        mine().value(value);
    }

    @Override
    public void respond(ByteBuffer payload) {
        mine().raw(payload, List.of());
    }

    @Override
    public void respond(ByteBuffer payload, List<Tensor> tensors) {
        mine().raw(payload, tensors);
    }

    @Override
    public void respond(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        mine().rawWith(payload, tensors, references);
    }

    @Override
    public LateResponse later() {
        exchange.requireInHandler();
        return exchange.defer();
    }

    @Override
    public Response dispatch(
            MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        exchange.requireInHandler();
        return inner.dispatch(exchange, type, payload, tensors, references);
    }

    @Override
    public CompletableFuture<Response> dispatchAsync(
            MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        exchange.requireInHandler();
        return inner.dispatchAsync(exchange, type, payload, tensors, references);
    }

    @Override
    public Caller caller() {
        return services().caller();
    }

    @Override
    public Rpc rpc() {
        return services().rpc();
    }

    @Override
    public TensorBuffers buffers() {
        return services().buffers();
    }

    @Override
    public InstantSource clock() {
        return services().clock();
    }

    @Override
    public RequestArrival arrival() {
        return services().arrival();
    }

    @Override
    public RandomGenerator random() {
        return services().random();
    }
}
