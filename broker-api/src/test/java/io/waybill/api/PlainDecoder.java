package io.waybill.api;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Decodes payloads straight into values, one part after the other: what {@link NamedFields} and {@link ValueDecoder} have to agree with, faults and their words
 * included.
 */
final class PlainDecoder {

    private final ByteBuffer buffer;
    private final List<Tensor> tensors;
    private final List<? extends RRef> references;

    PlainDecoder(ByteBuffer bytes, List<Tensor> tensors, List<? extends RRef> references) {
        this.references = references;
        this.buffer = bytes.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        this.tensors = tensors;
    }

    private Value value() throws RejectedMessageException {
        try {
            return read(0);
        } catch (BufferUnderflowException e) {
            throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, "the payload ends inside a value", e);
        }
    }

    /** Decodes a response. */
    Value result() throws RejectedMessageException {
        Value value = value();
        end();
        return value;
    }

    /** Decodes a call by name. */
    Invocation call() throws RejectedMessageException {
        Invocation.Mode mode = (peekShort() & 0x8000) == 0 ? Invocation.Mode.DIRECT : Invocation.Mode.ASYNC;
        String name = name();
        int positionalCount = count(1);
        List<Value> positional = new ArrayList<>();
        for (int i = 0; i < positionalCount; i++) {
            positional.add(value());
        }
        int namedCount = count(6);
        Map<String, Value> named = new LinkedHashMap<>();
        for (int i = 0; i < namedCount; i++) {
            String key = text();
            if (named.put(key, value()) != null) {
                throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, "the argument " + key + " comes twice");
            }
        }
        end();
        return new Invocation(name, positional, named, mode);
    }

    private void end() throws RejectedMessageException {
        if (buffer.hasRemaining()) {
            throw malformed(buffer.remaining() + " bytes are left after the last value");
        }
    }

    private int peekShort() throws RejectedMessageException {
        if (buffer.remaining() < 2) {
            throw malformed("the payload ends inside an operation's name");
        }
        return Short.toUnsignedInt(buffer.getShort(buffer.position()));
    }

    private String name() throws RejectedMessageException {
        int length = Invocation.nameLength(peekShort());
        buffer.getShort();
        if (length == 0 || length > Invocation.MAX_NAME_BYTES) {
            throw malformed("an operation's name has 1 to " + Invocation.MAX_NAME_BYTES + " bytes, not " + length);
        }
        return utf8(length);
    }

    private int count(int leastBytesEach) throws RejectedMessageException {
        if (buffer.remaining() < 4) {
            throw malformed("the payload ends inside a count");
        }
        long count = Integer.toUnsignedLong(buffer.getInt());
        if (count * leastBytesEach > buffer.remaining()) {
            throw malformed("a count of " + count + " with " + buffer.remaining() + " bytes left");
        }
        return (int) count;
    }

    private String text() throws RejectedMessageException {
        if (!buffer.hasRemaining() || buffer.get() != ValueEncoder.TEXT) {
            throw malformed("a name must be a string");
        }
        return utf8(count(1));
    }

    private Value read(int depth) throws RejectedMessageException {
        if (depth > ValueEncoder.MAX_NESTING) {
            throw malformed("values nest at most " + ValueEncoder.MAX_NESTING + " deep");
        }
        byte tag = buffer.get();
        switch (tag) {
            case ValueEncoder.NONE:
                return Value.NONE;
            case ValueEncoder.FALSE:
                return Value.of(false);
            case ValueEncoder.TRUE:
                return Value.of(true);
            case ValueEncoder.INT:
                return Value.of(buffer.getLong());
            case ValueEncoder.FLOAT:
                return Value.of(buffer.getDouble());
            case ValueEncoder.COMPLEX:
                return new Value.Complex(buffer.getDouble(), buffer.getDouble());
            case ValueEncoder.TEXT:
                return Value.of(utf8(count(1)));
            case ValueEncoder.BINARY:
                byte[] bytes = new byte[count(1)];
                buffer.get(bytes);
                return new Value.Binary(bytes);
            case ValueEncoder.TENSOR:
                return Value.of(tensor());
            case ValueEncoder.SPARSE:
                return sparse();
            case ValueEncoder.RREF:
                return reference(Integer.toUnsignedLong(buffer.getInt()));
            case ValueEncoder.LIST:
                return new Value.Items(elements(depth));
            case ValueEncoder.TUPLE:
                return new Value.Tuple(elements(depth));
            case ValueEncoder.DICT:
                return dict(depth);
            case ValueEncoder.DEVICE:
                return device();
            case ValueEncoder.DTYPE:
                return dtype(Byte.toUnsignedInt(buffer.get()));
            default:
                throw malformed("no value has the tag " + Byte.toUnsignedInt(tag));
        }
    }

    private Tensor tensor() throws RejectedMessageException {
        long index = Integer.toUnsignedLong(buffer.getInt());
        if (index >= tensors.size()) {
            throw malformed("tensor " + index + " of " + tensors.size());
        }
        return tensors.get((int) index);
    }

    private Value sparse() throws RejectedMessageException {
        Tensor indices = tensor();
        Tensor values = tensor();
        int flags = Byte.toUnsignedInt(buffer.get());
        int dimensions = Byte.toUnsignedInt(buffer.get());
        if ((flags & ~ValueEncoder.COALESCED_BIT) != 0 || dimensions > Tensor.MAX_DIMENSIONS) {
            throw malformed("a sparse tensor with the flags " + flags + " and " + dimensions + " dimensions");
        }
        long[] sizes = new long[dimensions];
        for (int i = 0; i < dimensions; i++) {
            sizes[i] = buffer.getLong();
        }
        try {
            return Value.of(new SparseTensor(indices, values, sizes, flags == ValueEncoder.COALESCED_BIT));
        } catch (IllegalArgumentException e) {
            throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, e.getMessage(), e);
        }
    }

    private Value reference(long index) throws RejectedMessageException {
        if (index >= references.size()) {
            throw malformed("reference " + index + " of " + references.size());
        }
        return Value.of(references.get((int) index));
    }

    private List<Value> elements(int depth) throws RejectedMessageException {
        int count = count(1);
        List<Value> values = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            values.add(read(depth + 1));
        }
        return values;
    }

    private Value dict(int depth) throws RejectedMessageException {
        int count = count(2);
        Map<Value, Value> entries = new LinkedHashMap<>();
        for (int i = 0; i < count; i++) {
            Value key = read(depth + 1);
            if (entries.put(key, read(depth + 1)) != null) {
                throw malformed("a dict's key comes twice");
            }
        }
        return new Value.Dict(entries);
    }

    private Value device() throws RejectedMessageException {
        int index = buffer.get();
        int length = Byte.toUnsignedInt(buffer.get());
        if (length > buffer.remaining()) {
            throw malformed("the payload ends inside a device");
        }
        String type = utf8(length);
        try {
            return Value.of(new Device(type, index));
        } catch (IllegalArgumentException e) {
            throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, e.getMessage(), e);
        }
    }

    private Value dtype(int code) throws RejectedMessageException {
        if (!DType.isKnown(code)) {
            throw malformed("no element type with plain storage has the code " + code);
        }
        return Value.of(DType.of(code));
    }

    private String utf8(int length) throws RejectedMessageException {
        if (length > buffer.remaining()) {
            throw malformed("a string of " + length + " bytes with " + buffer.remaining() + " bytes left");
        }
        ByteBuffer part = buffer.slice(buffer.position(), length);
        try {
            String text = StandardCharsets.UTF_8.newDecoder().decode(part).toString();
            buffer.position(buffer.position() + length);
            return text;
        } catch (CharacterCodingException e) {
            throw new RejectedMessageException(
                    ErrorCode.MALFORMED_BODY, "a string at offset " + buffer.position() + " is not UTF-8", e);
        }
    }

    private RejectedMessageException malformed(String what) {
        return new RejectedMessageException(
                ErrorCode.MALFORMED_BODY, "malformed payload at offset " + buffer.position() + ": " + what);
    }
}
