package io.waybill.testing.core;

import io.waybill.api.Body;
import io.waybill.api.Caller;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Rpc;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import java.nio.ByteBuffer;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.random.RandomGenerator;

/**
 * An outbox that keeps the response of a handler that is tested without a broker: named fields, or one value. What needs a
 * broker (calls, references, tensor buffers, a response that comes later) throws; a test of that uses {@code WaybillExtension}.
 *
 * <p><b>Threads.</b> The handler's. <b>Ownership.</b> The response's tensors are the outbox's until {@link #release}.
 */
public final class RecordingOutbox implements Outbox {

    private final InstantSource clock;
    private final RandomGenerator random;
    private Request fields;
    private Value value;

    /** Creates an outbox without clock and random numbers: a handler that uses them fails. */
    public RecordingOutbox() {
        this(null, null);
    }

    /** Creates an outbox with a clock and random numbers. */
    public RecordingOutbox(InstantSource clock, RandomGenerator random) {
        this.clock = clock;
        this.random = random;
    }

    /** The fields of the response, from {@link #response()}. */
    public Map<String, Value> fields() {
        if (fields == null) {
            throw new AssertionError("expected a response with named fields, found " + found());
        }
        try {
            ByteBuffer payload = ByteBuffer.wrap(fields.payloadArray(), 0, fields.payloadLength());
            return Invocation.decode(payload, fields.tensors()).named();
        } catch (RejectedMessageException e) {
            throw new AssertionError(e);
        }
    }

    /** Returns one field of the response. */
    public Value field(String name) {
        Value field = fields().get(name);
        if (field == null) {
            throw new AssertionError("expected a field " + name + ", found " + fields().keySet());
        }
        return field;
    }

    /** The value of the response, from {@link #respond(Value)}. */
    public Value value() {
        if (value == null) {
            throw new AssertionError("expected a response with a value, found " + found());
        }
        return value;
    }

    private String found() {
        return fields != null ? "named fields" : value != null ? "a value" : "none";
    }

    /** Releases each tensor of a value once, as the broker does when it has sent the response, and forgets the response. */
    public void release() {
        if (value != null) {
            ValueEncoder encoder = new ValueEncoder();
            encoder.value(value);
            encoder.tensors().forEach(tensor -> tensor.storage().release());
        }
        value = null;
        fields = null;
    }

    private void requireNone() {
        if (fields != null || value != null) {
            throw new IllegalStateException("a second response, after " + found());
        }
    }

    @Override
    public Body response() {
        requireNone();
        // fields have one form in requests and responses, and a request can be read back
        fields = Request.operation("none", "response");
        return fields.body();
    }

    @Override
    public void respond(Value response) {
        requireNone();
        value = response;
    }

    @Override
    public void respond(ByteBuffer payload) {
        throw new UnsupportedOperationException("expected a response with fields or a value, found a payload");
    }

    @Override
    public void respond(ByteBuffer payload, List<Tensor> tensors) {
        respond(payload);
    }

    @Override
    public void respond(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        respond(payload);
    }

    @Override
    public Response dispatch(
            MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        throw new UnsupportedOperationException("other handlers need a broker");
    }

    @Override
    public CompletableFuture<Response> dispatchAsync(
            MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        throw new UnsupportedOperationException("other handlers need a broker");
    }

    @Override
    public LateResponse later() {
        throw new UnsupportedOperationException("a response that comes later needs a broker");
    }

    @Override
    public Caller caller() {
        throw new UnsupportedOperationException("calls need a broker");
    }

    @Override
    public Rpc rpc() {
        throw new UnsupportedOperationException("remote references need a broker");
    }

    @Override
    public TensorBuffers buffers() {
        throw new UnsupportedOperationException("tensor buffers need a broker");
    }

    @Override
    public InstantSource clock() {
        return required(clock, "a clock");
    }

    @Override
    public RandomGenerator random() {
        return required(random, "random numbers");
    }

    private static <T> T required(T given, String what) {
        if (given == null) {
            throw new UnsupportedOperationException("the handler asks for " + what + ": give them to the outbox");
        }
        return given;
    }
}
