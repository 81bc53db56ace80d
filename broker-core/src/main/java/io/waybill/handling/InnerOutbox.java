package io.waybill.handling;

import io.waybill.api.Body;
import io.waybill.api.Caller;
import io.waybill.api.RRef;
import io.waybill.api.Rpc;
import io.waybill.api.Value;
import io.waybill.api.handler.Outbox;
import io.waybill.api.handler.RequestArrival;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import java.nio.ByteBuffer;
import java.time.InstantSource;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * Outbox of the handler of a message that was inside another one: it has a response of its own, and the calls, buffers, clock, arrival and
 * random numbers of the outer handler.
 *
 * <p><b>Threads.</b> Belongs to the thread of the handler while it runs.
 */
public abstract class InnerOutbox implements ComposedOutbox {

    private final OutgoingResponse response;

    protected InnerOutbox(OutgoingResponse response) {
        this.response = response;
    }

    /** Returns the outbox of the handler that dispatched the message. */
    protected abstract Outbox outer();

    /** Throws {@link IllegalStateException} unless the calling thread is inside the handler. */
    protected abstract void requireInHandler();

    @Override
    public final OutgoingResponse composed() {
        return response;
    }

    @Override
    public final Body response() {
        requireInHandler();
        return response.fields();
    }

    @Override
    public final void respond(Value value) {
        requireInHandler();
        response.value(value);
    }

    @Override
    public final void respond(ByteBuffer payload) {
        respond(payload, List.of());
    }

    @Override
    public final void respond(ByteBuffer payload, List<Tensor> tensors) {
        requireInHandler();
        response.raw(payload, tensors);
    }

    @Override
    public final void respond(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        requireInHandler();
        response.rawWith(payload, tensors, references);
    }

    @Override
    public final Caller caller() {
        return outer().caller();
    }

    @Override
    public final Rpc rpc() {
        return outer().rpc();
    }

    @Override
    public final TensorBuffers buffers() {
        return outer().buffers();
    }

    @Override
    public final InstantSource clock() {
        return outer().clock();
    }

    @Override
    public final RequestArrival arrival() {
        return outer().arrival();
    }

    @Override
    public final RandomGenerator random() {
        return outer().random();
    }
}
