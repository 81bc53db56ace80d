package io.waybill.testing.core;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.ValueDecoder;
import io.waybill.api.ValueEncoder;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A response as its caller gets it, without a broker. Its fields are decoded when they are read, and refused as the broker's are.
 *
 * <p><b>Ownership.</b> Holds one count of the storage of each tensor, until it is closed. <b>Threads.</b> Any.
 */
public final class TestResponse implements Response {

    private final MessageType type;
    private final ByteBuffer payload;
    private final List<Tensor> tensors;
    private final List<RRef> references;
    private final AtomicBoolean isClosed = new AtomicBoolean();

    private TestResponse(MessageType type, byte[] payload, List<Tensor> tensors, List<? extends RRef> references) {
        this.type = type;
        this.payload = ByteBuffer.wrap(payload).asReadOnlyBuffer();
        this.tensors = List.copyOf(tensors);
        this.references = List.copyOf(references);
    }

    /** A response with one value; with named fields if it is a {@link Value.Dict} with texts for keys. */
    public static TestResponse of(Value value) {
        ValueEncoder encoder = new ValueEncoder();
        encoder.value(value);
        return new TestResponse(MessageType.NAMED_RET, encoder.toBytes(), encoder.tensors(), encoder.references());
    }

    /** A response of any type with raw bytes: the buffer's remaining bytes, copied. */
    public static TestResponse raw(
            MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        byte[] bytes = new byte[payload.remaining()];
        payload.duplicate().get(bytes);
        return new TestResponse(type, bytes, tensors, references);
    }

    /** Returns whether it was closed. */
    public boolean isClosed() {
        return isClosed.get();
    }

    @Override
    public MessageType type() {
        return type;
    }

    @Override
    public long id() {
        return MessageId.of(1, 1);
    }

    @Override
    public int from() {
        return 0;
    }

    @Override
    public ByteBuffer payload() {
        return payload.duplicate();
    }

    @Override
    public List<Tensor> tensors() {
        return tensors;
    }

    @Override
    public List<RRef> references() {
        return references;
    }

    @Override
    public Value value() {
        try {
            ValueDecoder decoder = new ValueDecoder(payload(), tensors, references);
            Value value = decoder.value();
            decoder.end();
            return value;
        } catch (RejectedMessageException e) {
            throw new CallException(ErrorKind.UNKNOWN_ERROR, e.code(), id(), "response: " + e.getMessage(), e);
        }
    }

    @Override
    public Value value(String name) {
        Value found = value() instanceof Value.Dict dict ? dict.entries().get(Value.of(name)) : null;
        if (found == null) {
            throw malformed("no field " + name);
        }
        return found;
    }

    private <T extends Value> T value(String name, Class<T> kind) {
        Value value = value(name);
        if (!kind.isInstance(value)) {
            throw malformed("field " + name + ": expected " + kind.getSimpleName() + ", found "
                    + value.getClass().getSimpleName());
        }
        return kind.cast(value);
    }

    private CallException malformed(String text) {
        return new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.MALFORMED_BODY, id(), "response: " + text);
    }

    @Override
    public String text(String name) {
        return value(name, Value.Text.class).value();
    }

    @Override
    public long int64(String name) {
        return value(name, Value.Int.class).value();
    }

    @Override
    public double float64(String name) {
        return value(name) instanceof Value.Int integer
                ? integer.value()
                : value(name, Value.Float.class).value();
    }

    @Override
    public boolean bool(String name) {
        return value(name, Value.Bool.class).value();
    }

    @Override
    public Tensor tensor(String name) {
        return value(name, Value.OfTensor.class).value();
    }

    @Override
    public void close() {
        if (isClosed.compareAndSet(false, true)) {
            tensors.forEach(tensor -> tensor.storage().release());
        }
    }
}
