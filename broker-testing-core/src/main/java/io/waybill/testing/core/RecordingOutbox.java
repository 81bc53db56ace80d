package io.waybill.testing.core;

import io.waybill.api.Body;
import io.waybill.api.CallException;
import io.waybill.api.Caller;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.Rpc;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.Outbox;
import io.waybill.api.handler.RequestArrival;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.random.RandomGenerator;

/**
 * Outbox that keeps the response of a handler in a test without a broker: named fields, one value, raw bytes, or a
 * deferred response. Calls and inner messages go to the handlers of a {@link ManualWorker}; without one they throw,
 * like {@link #rpc()}.
 *
 * <p><b>Threads.</b> The handler's; another thread may send a deferred response. <b>Ownership.</b> The outbox owns the
 * response's tensors until {@link #release}.
 */
public final class RecordingOutbox implements Outbox {

    private static final long SECOND_NS = 1_000_000_000;

    private final InstantSource clock;
    private final RandomGenerator random;
    private final ManualWorker worker; // null for none
    private final int depth;
    private final TestBuffers buffers = new TestBuffers();
    private final CompletableFuture<RecordingOutbox> late = new CompletableFuture<>();
    private boolean isDeferred;
    private ValueEncoder fields;
    private Value value;
    private TestResponse raw;
    private CallException failure;

    /** Creates an outbox without clock, random numbers and other handlers: a handler that uses them fails. */
    public RecordingOutbox() {
        this(null, null);
    }

    /** Creates an outbox with a clock and random numbers. */
    public RecordingOutbox(InstantSource clock, RandomGenerator random) {
        this(clock, random, null, 1);
    }

    /** Creates an outbox whose calls and inner messages go to the handlers of a worker. */
    public RecordingOutbox(ManualWorker worker) {
        this(null, null, worker, 1);
    }

    private RecordingOutbox(InstantSource clock, RandomGenerator random, ManualWorker worker, int depth) {
        this.clock = clock;
        this.random = random;
        this.worker = worker;
        this.depth = depth;
    }

    /**
     * Creates an outbox whose calls and inner messages go to the handlers of a worker, with a clock and random numbers.
     */
    public RecordingOutbox with(ManualWorker other) {
        return new RecordingOutbox(clock, random, other, depth);
    }

    /** Creates the outbox of an inner message. */
    RecordingOutbox inner() {
        return new RecordingOutbox(clock, random, worker, depth + 1);
    }

    /** Returns the fields of the response, from {@link #response()}. */
    public Map<String, Value> fields() {
        if (fields == null) {
            throw new AssertionError("expected a response with named fields, found " + found());
        }
        Map<String, Value> named = new LinkedHashMap<>();
        ((Value.Dict) toResponse(MessageType.NAMED_RET).value())
                .entries()
                .forEach((name, field) -> named.put(((Value.Text) name).value(), field));
        return named;
    }

    /** Returns one field of the response. */
    public Value field(String name) {
        Value field = fields().get(name);
        if (field == null) {
            throw new AssertionError("expected a field " + name + ", found " + fields().keySet());
        }
        return field;
    }

    /** Returns the value of the response, from {@link #respond(Value)}. */
    public Value value() {
        if (value == null) {
            throw new AssertionError("expected a response with a value, found " + found());
        }
        return value;
    }

    /** Returns the error of a deferred response, from {@link LateResponse#fail}. */
    public CallException failure() {
        if (failure == null) {
            throw new AssertionError("expected a response with an error, found " + found());
        }
        return failure;
    }

    /** Returns the error of a deferred response; null if there is none. */
    CallException failed() {
        return failure;
    }

    /** Returns whether there is a response, or will be. */
    boolean hasOutcome() {
        return isDeferred || isGiven();
    }

    /** Returns whether the handler has called {@link #later()}. */
    public boolean isDeferred() {
        return isDeferred;
    }

    /**
     * Returns the response for its caller, with its tensors. The caller closes it, and does not call {@link #release}.
     */
    public TestResponse toResponse(MessageType type) {
        if (fields == null && value == null && raw == null) {
            throw new AssertionError("expected a response, found " + found());
        }
        ValueEncoder encoder = fields;
        if (value != null) {
            encoder = new ValueEncoder();
            encoder.value(value);
        }
        return raw != null
                ? TestResponse.raw(type, raw.payload(), raw.tensors(), raw.references())
                : TestResponse.raw(type, ByteBuffer.wrap(encoder.toBytes()), encoder.tensors(), encoder.references());
    }

    /** Returns a future that completes with this outbox when a deferred response was sent or failed. */
    CompletableFuture<RecordingOutbox> late() {
        return late;
    }

    private boolean isGiven() {
        return fields != null || value != null || raw != null || failure != null;
    }

    private String found() {
        String given = fields != null ? "named fields" : value != null ? "a value" : raw != null ? "a payload" : "none";
        return failure == null ? given : "an error: " + failure.getMessage();
    }

    /** Releases each tensor of the response once, like the broker after sending it, and drops the response. */
    public void release() {
        if (fields != null || value != null || raw != null) {
            toResponse(MessageType.NAMED_RET).close();
        }
        value = null;
        fields = null;
        raw = null;
        failure = null;
    }

    private void requireNone() {
        if (hasOutcome()) {
            throw new IllegalStateException("a second response, after " + (isDeferred ? "later()" : found()));
        }
    }

    @Override
    public Body response() {
        requireNone();
        return newFields();
    }

    private Body newFields() {
        fields = new ValueEncoder();
        return new Body(fields).openResponse();
    }

    @Override
    public void respond(Value response) {
        requireNone();
        value = response;
    }

    @Override
    public void respond(ByteBuffer payload) {
        respond(payload, List.of());
    }

    @Override
    public void respond(ByteBuffer payload, List<Tensor> tensors) {
        respond(payload, tensors, List.of());
    }

    @Override
    public void respond(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        requireNone();
        raw = TestResponse.raw(MessageType.NAMED_RET, payload, tensors, references);
    }

    @Override
    public Response dispatch(
            MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        try {
            return ManualWorker.waited(dispatchAsync(type, payload, tensors, references));
        } catch (CallException e) {
            throw new ManualWorker.InnerFailure(e);
        }
    }

    @Override
    public CompletableFuture<Response> dispatchAsync(
            MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        TestMessage inner = TestMessage.raw(type, payload, tensors, references);
        if (depth >= MAX_DEPTH) {
            String text = "a message has at most " + MAX_DEPTH + " messages inside each other, and this one more";
            return CompletableFuture.failedFuture(
                    new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.REFUSED, inner.id(), text));
        }
        return worker("other handlers").serve(inner, inner());
    }

    @Override
    public LateResponse later() {
        requireNone();
        isDeferred = true;
        return new Later();
    }

    @Override
    public Caller caller() {
        return worker("calls");
    }

    private ManualWorker worker(String what) {
        if (worker == null) {
            throw new UnsupportedOperationException(what + " need a broker, or a ManualWorker of the test");
        }
        return worker;
    }

    @Override
    public Rpc rpc() {
        throw new UnsupportedOperationException("remote references need a broker");
    }

    @Override
    public TestBuffers buffers() {
        return buffers;
    }

    @Override
    public InstantSource clock() {
        return required(clock, "a clock");
    }

    /** {@inheritDoc} Here each stage takes no time. */
    @Override
    public RequestArrival arrival() {
        Instant now = clock().instant();
        long ns = now.getEpochSecond() * SECOND_NS + now.getNano();
        return new RequestArrival(ns, ns, ns, ns, ns, ns);
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

    /** Deferred response. Only the first outcome counts. */
    private final class Later implements LateResponse {

        @Override
        public Body body() {
            return newFields();
        }

        @Override
        public void send() {
            late.complete(RecordingOutbox.this);
        }

        @Override
        public void send(Value response) {
            if (!late.isDone()) {
                value = response;
                send();
            }
        }

        @Override
        public void send(ByteBuffer payload, List<Tensor> tensors) {
            send(payload, tensors, List.of());
        }

        @Override
        public void send(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
            if (!late.isDone()) {
                raw = TestResponse.raw(MessageType.NAMED_RET, payload, tensors, references);
                send();
            }
        }

        @Override
        public void fail(ErrorCode code, String text) {
            if (!late.isDone()) {
                failure = new CallException(ErrorKind.UNKNOWN_ERROR, code, MessageId.of(1, 1), text);
                send();
            }
        }

        @Override
        public void fail(ErrorCode code, String text, Throwable cause) {
            if (!late.isDone()) {
                failure = new CallException(ErrorKind.UNKNOWN_ERROR, code, MessageId.of(1, 1), text, cause);
                send();
            }
        }
    }
}
