package io.waybill.api;

import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * Request to be sent: receiver, type, payload and timeout. Reusable: {@link Caller} copies the content before it
 * returns, and every use gets its own id. A field that is written after a use replaces the field of the same name.
 *
 * <p>Not thread-safe.
 */
public final class Request {

    /** Timeout value for the worker's default. */
    public static final long DEFAULT_TIMEOUT = Long.MIN_VALUE;
    /** Timeout value for no timeout. */
    public static final long NO_TIMEOUT = 0;

    private final String to;
    private final MessageType type;
    private final ValueEncoder encoder = new ValueEncoder();
    private final Body body = new Body(encoder);
    private long timeoutNs = DEFAULT_TIMEOUT;

    private Request(String to, MessageType type) {
        this.to = Objects.requireNonNull(to);
        if (!type.isRequest()) {
            throw new IllegalArgumentException("only requests can be sent to a worker, and " + type + " is none");
        }
        this.type = type;
    }

    /** Creates a call to an operation by name; {@link #body()} takes its fields. */
    public static Request operation(String to, String operation) {
        Request request = new Request(to, MessageType.NAMED_CALL);
        request.body.openRequest(operation);
        return request;
    }

    /** Creates a call by name with positional and named arguments. */
    public static Request invocation(String to, MessageType type, Invocation invocation) {
        Request request = new Request(to, type);
        invocation.encode(request.encoder);
        return request;
    }

    /**
     * Returns a copy of this request that leaves its result on the receiver.
     *
     * @throws IllegalArgumentException when the type has no {@linkplain MessageType#creating() creating form}
     */
    public Request creating() {
        MessageType form = type.creating()
                .orElseThrow(() -> new IllegalArgumentException(
                        "the result of a " + type + " can't be left on the receiver: the type has no creating form"));
        Request request = raw(to, form, ByteBuffer.wrap(payloadArray(), 0, payloadLength()), tensors(), references());
        request.timeoutNs = timeoutNs;
        return request;
    }

    /** Creates a request with raw bytes: the buffer's remaining bytes, copied. */
    public static Request raw(String to, MessageType type, ByteBuffer payload, List<Tensor> tensors) {
        Request request = new Request(to, type);
        request.payload(payload, tensors);
        return request;
    }

    /**
     * Creates a request with raw bytes, tensors and remote references.
     *
     * @param references in the order of their indices in the payload; the caller keeps its handles
     */
    public static Request raw(
            String to, MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        Request request = raw(to, type, payload, tensors);
        references.forEach(request.encoder::addReference);
        return request;
    }

    /** Replaces the payload of a request with raw bytes. */
    public Request payload(ByteBuffer payload, List<Tensor> tensors) {
        encoder.reset();
        encoder.raw(payload);
        for (int i = 0; i < tensors.size(); i++) {
            encoder.addTensor(tensors.get(i));
        }
        return this;
    }

    /**
     * Sets how long the caller waits for the response. {@link Duration#ZERO} means indefinitely, and is the only such
     * value: PyTorch's rounding of times below a millisecond to zero is a defect that is not reproduced. A negative
     * time, such as the remainder of a limit that has passed, makes the call time out at once; PyTorch does the same,
     * except that -1 second stands for its default there.
     */
    public Request timeout(Duration timeout) {
        try {
            timeoutNs = Math.max(timeout.toNanos(), DEFAULT_TIMEOUT + 1);
        } catch (ArithmeticException e) { // 292 years and more
            timeoutNs = timeout.isNegative() ? DEFAULT_TIMEOUT + 1 : NO_TIMEOUT;
        }
        return this;
    }

    /** Returns the writer of the fields of a call by name. */
    public Body body() {
        return body;
    }

    /**
     * Returns the receiver: the name of a worker, its {@link WorkerInfo#address}, or, if no worker has that name, its
     * id in decimal.
     */
    public String to() {
        return to;
    }

    public MessageType type() {
        return type;
    }

    /**
     * Returns the timeout in nanoseconds, {@link #DEFAULT_TIMEOUT}, or {@link #NO_TIMEOUT}. A call with a negative
     * timeout times out at once.
     */
    public long timeoutNs() {
        return timeoutNs;
    }

    /** Returns the array that contains the payload, from index 0 for {@link #payloadLength()} bytes. */
    public byte[] payloadArray() {
        body.onUse();
        return encoder.array();
    }

    public int payloadLength() {
        return encoder.length();
    }

    public List<Tensor> tensors() {
        return encoder.tensors();
    }

    /** Returns the references among the arguments. */
    public List<RRef> references() {
        return encoder.references();
    }
}
