package io.waybill.bench.measure;

import io.waybill.api.Body;
import io.waybill.api.Caller;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.Rpc;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.Outbox;
import io.waybill.api.handler.RequestArrival;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerTable;
import io.waybill.handling.Delivered;
import io.waybill.handling.InboundMessage;
import io.waybill.handling.OutgoingResponse;
import io.waybill.handling.Route;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.nio.ByteBuffer;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.random.RandomGenerator;

/**
 * Handlers that are called one after the other with requests that lie in memory, and whose responses go nowhere. One
 * thread.
 */
public final class HandlersAlone implements Outbox {

    private final HandlerTable table;
    private final List<byte[]> requests;
    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView view = new RecordView(buffer);
    private final InboundMessage message = new InboundMessage(view, deadlineNs -> deadlineNs, () -> "caller");
    private final OutgoingResponse response = new OutgoingResponse();

    public HandlersAlone(HandlerTable table, List<byte[]> requests) {
        this.table = table;
        this.requests = requests;
    }

    public long nsPerCall(int calls) throws Exception {
        long startNs = System.nanoTime();
        for (int i = 0; i < calls; i++) {
            call(requests.get(i % requests.size()));
        }
        return (System.nanoTime() - startNs) / calls;
    }

    private void call(byte[] request) throws Exception {
        buffer.reserve(request.length);
        buffer.memory().putBytes(0, request);
        HandlerEntry entry = Route.find(table, view);
        message.open(entry.key(), Delivered.FIRST, List.of());
        entry.handler().handle(message, this);
        message.close();
        response.reset();
    }

    @Override
    public Body response() {
        return response.fields();
    }

    @Override
    public void respond(Value value) {
        response.value(value);
    }

    @Override
    public void respond(ByteBuffer payload) {
        response.raw(payload, List.of());
    }

    @Override
    public void respond(ByteBuffer payload, List<Tensor> tensors) {
        response.raw(payload, tensors);
    }

    @Override
    public void respond(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        response.rawWith(payload, tensors, references);
    }

    @Override
    public Response dispatch(
            MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Response> dispatchAsync(
            MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        throw new UnsupportedOperationException();
    }

    @Override
    public LateResponse later() {
        throw new UnsupportedOperationException();
    }

    @Override
    public Caller caller() {
        throw new UnsupportedOperationException();
    }

    @Override
    public Rpc rpc() {
        throw new UnsupportedOperationException();
    }

    @Override
    public TensorBuffers buffers() {
        throw new UnsupportedOperationException();
    }

    @Override
    public InstantSource clock() {
        throw new UnsupportedOperationException();
    }

    @Override
    public RequestArrival arrival() {
        throw new UnsupportedOperationException();
    }

    @Override
    public RandomGenerator random() {
        throw new UnsupportedOperationException();
    }
}
