package io.waybill.testing.core;

import io.waybill.api.CallException;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.NamedFields;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Response for a caller in a test without a broker. Its fields are decoded when they are read, and refused like the
 * broker's.
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

    private NamedFields fields() throws RejectedMessageException {
        return new NamedFields().result(payload, tensors, references);
    }

    private CallException refused(RejectedMessageException e) {
        return new CallException(ErrorKind.UNKNOWN_ERROR, e.code(), id(), "response: " + e.getMessage(), e);
    }

    @Override
    public Value value() {
        try {
            return fields().value();
        } catch (RejectedMessageException e) {
            throw refused(e);
        }
    }

    @Override
    public Value value(String name) {
        try {
            return fields().value(name);
        } catch (RejectedMessageException e) {
            throw refused(e);
        }
    }

    @Override
    public String text(String name) {
        try {
            return fields().text(name);
        } catch (RejectedMessageException e) {
            throw refused(e);
        }
    }

    @Override
    public long int64(String name) {
        try {
            return fields().int64(name);
        } catch (RejectedMessageException e) {
            throw refused(e);
        }
    }

    @Override
    public double float64(String name) {
        try {
            return fields().float64(name);
        } catch (RejectedMessageException e) {
            throw refused(e);
        }
    }

    @Override
    public boolean bool(String name) {
        try {
            return fields().bool(name);
        } catch (RejectedMessageException e) {
            throw refused(e);
        }
    }

    @Override
    public byte[] bytes(String name) {
        try {
            return fields().bytes(name);
        } catch (RejectedMessageException e) {
            throw refused(e);
        }
    }

    @Override
    public Tensor tensor(String name) {
        try {
            return fields().tensor(name);
        } catch (RejectedMessageException e) {
            throw refused(e);
        }
    }

    @Override
    public void close() {
        if (isClosed.compareAndSet(false, true)) {
            tensors.forEach(tensor -> tensor.storage().release());
        }
    }
}
