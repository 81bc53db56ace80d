package io.waybill.osgi;

import io.waybill.api.Body;
import io.waybill.api.Caller;
import io.waybill.api.Invocation;
import io.waybill.api.LateReply;
import io.waybill.api.Outbox;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Rpc;
import io.waybill.api.Tensor;
import io.waybill.api.TensorBuffers;
import io.waybill.api.Value;
import java.nio.ByteBuffer;
import java.time.InstantSource;
import java.util.List;
import java.util.random.RandomGenerator;

/** Keeps what a handler answered. */
final class FakeOutbox implements Outbox {

    /** The answer of {@link #reply(Value)}. */
    Value value;

    /** Named fields have one form in requests and replies, so a request takes them here. */
    private final Request fields = Request.operation("nobody", "fake.reply");

    Value field(String name) {
        try {
            ByteBuffer payload = ByteBuffer.wrap(fields.payloadArray(), 0, fields.payloadLength());
            return Invocation.decode(payload, List.of()).named().get(name);
        } catch (RejectedMessageException e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public Body reply() {
        return fields.body();
    }

    @Override
    public void reply(Value answer) {
        value = answer;
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
