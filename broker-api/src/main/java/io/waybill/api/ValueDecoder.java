package io.waybill.api;

import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Decodes values in the form that {@link ValueEncoder} writes. The bytes are untrusted: a value is checked with
 * everything nested in it before anything of it is allocated, so decoding allocates at most a small multiple of the
 * input.
 *
 * <p>Not thread-safe. Every failure is a {@link RejectedMessageException} with {@link ErrorCode#MALFORMED_BODY} that
 * names the offset, and never quotes the bytes.
 */
public final class ValueDecoder {

    private final EncodedValues values;
    private int at;

    /**
     * Creates a decoder of the buffer's remaining bytes, for a message without references; the buffer itself is not
     * changed.
     */
    public ValueDecoder(ByteBuffer bytes, List<Tensor> tensors) {
        this(bytes, tensors, List.of());
    }

    /**
     * Creates a decoder of the buffer's remaining bytes, for a message with references; the buffer itself is not
     * changed.
     */
    public ValueDecoder(ByteBuffer bytes, List<Tensor> tensors, List<? extends RRef> references) {
        this(new EncodedValues(), bytes.position());
        values.open(bytes.duplicate().order(ByteOrder.LITTLE_ENDIAN), tensors, references);
    }

    /** Creates a decoder of checked values, for {@link #read}. */
    ValueDecoder(EncodedValues values, int at) {
        this.values = values;
        this.at = at;
    }

    /** Decodes one value with everything nested in it. */
    public Value value() throws RejectedMessageException {
        values.check(at, 0);
        return read();
    }

    /** Fails unless all bytes were read. */
    public void end() throws RejectedMessageException {
        values.checkEnd(at);
    }

    /** Decodes one checked value. */
    Value read() throws RejectedMessageException {
        int from = at;
        at = values.next(from);
        switch (values.tag(from)) {
            case ValueEncoder.NONE:
                return Value.NONE;
            case ValueEncoder.FALSE:
                return Value.of(false);
            case ValueEncoder.TRUE:
                return Value.of(true);
            case ValueEncoder.INT:
                return Value.of(values.int64(from));
            case ValueEncoder.FLOAT:
                return Value.of(values.float64(from));
            case ValueEncoder.COMPLEX:
                return values.complex(from);
            case ValueEncoder.TEXT:
                return Value.of(values.text(from));
            case ValueEncoder.BINARY:
                return new Value.Binary(values.binary(from));
            case ValueEncoder.TENSOR:
                return Value.of(values.tensor(from));
            case ValueEncoder.SPARSE:
                return Value.of(values.sparse(from));
            case ValueEncoder.RREF:
                return Value.of(values.reference(from));
            case ValueEncoder.LIST:
                return new Value.Items(elements(values.length(from)));
            case ValueEncoder.TUPLE:
                return new Value.Tuple(elements(values.length(from)));
            case ValueEncoder.DICT:
                return dict(values.length(from));
            case ValueEncoder.DEVICE:
                return Value.of(values.device(from));
            default:
                return Value.of(values.dtype(from));
        }
    }

    /** Decodes the given number of checked values. */
    List<Value> elements(int count) throws RejectedMessageException {
        List<Value> elements = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            elements.add(read());
        }
        return elements;
    }

    private Value dict(int count) throws RejectedMessageException {
        Map<Value, Value> entries = new LinkedHashMap<>();
        for (int i = 0; i < count; i++) {
            Value key = read();
            entries.put(key, read());
        }
        return new Value.Dict(entries);
    }
}
