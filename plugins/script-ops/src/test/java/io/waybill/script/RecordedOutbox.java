package io.waybill.script;

import io.waybill.api.Body;
import io.waybill.api.Caller;
import io.waybill.api.LateReply;
import io.waybill.api.Outbox;
import io.waybill.api.Rpc;
import io.waybill.api.Tensor;
import io.waybill.api.TensorBuffers;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import java.nio.ByteBuffer;
import java.time.InstantSource;
import java.util.List;
import java.util.random.RandomGenerator;

/** Keeps one reply, and gives back its storages as the broker does once it has sent them. */
final class RecordedOutbox implements Outbox {

    private Value reply;

    Value reply(String why) {
        if (reply == null) {
            throw new IllegalStateException("no reply " + why);
        }
        return reply;
    }

    /** Gives back the count that each tensor of the reply brought. */
    void release() {
        ValueEncoder encoder = new ValueEncoder();
        encoder.value(reply);
        encoder.tensors().forEach(tensor -> tensor.storage().release());
        reply = null;
    }

    @Override
    public void reply(Value value) {
        if (reply != null) {
            throw new IllegalStateException("two replies");
        }
        reply = value;
    }

    @Override
    public Body reply() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void reply(ByteBuffer payload) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void reply(ByteBuffer payload, List<Tensor> tensors) {
        throw new UnsupportedOperationException();
    }

    @Override
    public LateReply later() {
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
    public RandomGenerator random() {
        throw new UnsupportedOperationException();
    }
}
