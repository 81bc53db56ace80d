package org.acme.wordcount;

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
import java.util.Map;
import java.util.random.RandomGenerator;

/** Keeps the named fields that a handler answers with. */
final class KeptReply implements Outbox {

    /** Fields look alike in requests and replies, and a request can be read back. */
    private final Request kept = Request.operation("nobody", "kept.reply");

    Map<String, Value> fields() throws RejectedMessageException {
        ByteBuffer payload = ByteBuffer.wrap(kept.payloadArray(), 0, kept.payloadLength());
        return Invocation.decode(payload, kept.tensors()).named();
    }

    @Override
    public Body reply() {
        return kept.body();
    }

    @Override
    public void reply(Value value) {
        throw new AssertionError("an answer with named fields was expected");
    }

    @Override
    public void reply(ByteBuffer payload) {
        throw new AssertionError("an answer with named fields was expected");
    }

    @Override
    public void reply(ByteBuffer payload, List<Tensor> tensors) {
        throw new AssertionError("an answer with named fields was expected");
    }

    @Override
    public LateReply later() {
        throw new AssertionError("an answer at once was expected");
    }

    @Override
    public Caller caller() {
        throw new AssertionError("no call was expected");
    }

    @Override
    public Rpc rpc() {
        throw new AssertionError("no call was expected");
    }

    @Override
    public TensorBuffers buffers() {
        throw new AssertionError("no tensor was expected");
    }

    @Override
    public InstantSource clock() {
        throw new AssertionError("no look at the clock was expected");
    }

    @Override
    public RandomGenerator random() {
        throw new AssertionError("no random number was expected");
    }
}
