package io.waybill.api;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * Reader of values in the form that {@link ValueEncoder} writes, without a copy. Apart from the encoder, no other class
 * knows their layout. A position is an index in the buffer.
 *
 * <p>The bytes are untrusted. {@link #check} decides whether they are a value; the methods that return a part of a
 * value are for positions that it accepted. It allocates nothing for values other than devices, sparse tensors, and
 * dicts with more than {@value CheckedKeys#MAX_COMPARED} keys or with keys other than strings.
 *
 * <p><b>Threads.</b> One at a time. Checked values may be read by any number of threads.
 */
final class EncodedValues extends PayloadBytes {

    static final int TAG_BYTES = 1;
    static final int COUNT_BYTES = 4;

    private List<Tensor> tensors = List.of();
    private List<? extends RRef> references = List.of();
    private final CheckedKeys keys = new CheckedKeys(this);
    /** Opens the buffer's remaining bytes for reading; the buffer itself is not changed. */
    void open(ByteBuffer source, List<Tensor> ofTensors, List<? extends RRef> ofReferences) {
        open(source);
        tensors = ofTensors;
        references = ofReferences;
        keys.clear();
    }

    /** Drops the bytes and their tensors and references. */
    void close() {
        open(NOTHING, List.of(), List.of());
    }

    /** Checks a value with everything nested in it; returns the position after it. */
    int check(int at, int depth) throws RejectedMessageException {
        if (depth > ValueEncoder.MAX_NESTING) {
            throw malformed(at, "values nest at most " + ValueEncoder.MAX_NESTING + " deep");
        }
        int next = next(at);
        byte tag = tag(at);
        if (tag == ValueEncoder.DICT) {
            next = keys.checkInner(next, length(at), depth + 1);
        } else if (tag == ValueEncoder.LIST || tag == ValueEncoder.TUPLE) {
            for (int left = length(at); left > 0; left--) {
                next = check(next, depth + 1);
            }
        }
        return next;
    }

    /** Checks a value without the elements of a list, tuple or dict; returns the position after the checked part. */
    int next(int at) throws RejectedMessageException {
        int content = behind(at, TAG_BYTES);
        switch (tag(at)) {
            case ValueEncoder.NONE:
            case ValueEncoder.FALSE:
            case ValueEncoder.TRUE:
                return content;
            case ValueEncoder.INT:
            case ValueEncoder.FLOAT:
                return behind(content, Long.BYTES);
            case ValueEncoder.COMPLEX:
                return behind(content, 2 * Double.BYTES);
            case ValueEncoder.TEXT:
                return utf8(content + COUNT_BYTES, count(content, 1));
            case ValueEncoder.BINARY:
                return content + COUNT_BYTES + count(content, 1);
            case ValueEncoder.LIST:
            case ValueEncoder.TUPLE:
                count(content, 1);
                return content + COUNT_BYTES;
            case ValueEncoder.DICT:
                count(content, 2);
                return content + COUNT_BYTES;
            case ValueEncoder.TENSOR:
                return index(content, "tensor", tensors.size());
            case ValueEncoder.RREF:
                return index(content, "reference", references.size());
            case ValueEncoder.SPARSE:
                return checkSparse(at, content);
            case ValueEncoder.DEVICE:
                return checkDevice(at, content);
            case ValueEncoder.DTYPE:
                return checkDType(content);
            default:
                throw malformed(content, "no value has the tag " + u8(at));
        }
    }

    private int checkSparse(int at, int content) throws RejectedMessageException {
        int flagsAt = index(index(content, "tensor", tensors.size()), "tensor", tensors.size());
        int sizesAt = behind(flagsAt, 2);
        int flags = u8(flagsAt);
        int dimensions = u8(flagsAt + 1);
        if ((flags & ~ValueEncoder.COALESCED_BIT) != 0 || dimensions > Tensor.MAX_DIMENSIONS) {
            throw malformed(sizesAt, "a sparse tensor with the flags " + flags + " and " + dimensions + " dimensions");
        }
        int next = behind(sizesAt, dimensions * Long.BYTES);
        sparse(at);
        return next;
    }

    private int checkDevice(int at, int content) throws RejectedMessageException {
        int typeAt = behind(content, 2);
        int length = u8(content + 1);
        if (length > end() - typeAt) {
            throw malformed(typeAt, "the payload ends inside a device");
        }
        int next = utf8(typeAt, length);
        device(at);
        return next;
    }

    private int checkDType(int content) throws RejectedMessageException {
        int next = behind(content, 1);
        int code = u8(content);
        if (!DType.isKnown(code)) {
            throw malformed(next, "no element type with plain storage has the code " + code);
        }
        return next;
    }

    private int index(int at, String what, int size) throws RejectedMessageException {
        int next = behind(at, Integer.BYTES);
        long index = u32(at);
        if (index >= size) {
            throw malformed(next, what + " " + index + " of " + size);
        }
        return next;
    }

    /** Checks and returns the count of elements that have at least the given number of bytes each. */
    int count(int at, int leastBytesEach) throws RejectedMessageException {
        int left = end() - at - COUNT_BYTES;
        if (left < 0) {
            throw malformed(at, "the payload ends inside a count");
        }
        long count = u32(at);
        if (count * leastBytesEach > left) {
            throw malformed(at + COUNT_BYTES, "a count of " + count + " with " + left + " bytes left");
        }
        return (int) count;
    }

    /** Checks the name of an operation, after its length; returns the position after it. */
    int checkName(int at) throws RejectedMessageException {
        if (end() - at < Short.BYTES) {
            throw malformed(at, "the payload ends inside an operation's name");
        }
        int nameAt = at + Short.BYTES;
        int length = Invocation.nameLength(firstTwoBytes(at));
        if (length == 0 || length > Invocation.MAX_NAME_BYTES) {
            throw malformed(
                    nameAt, "an operation's name has 1 to " + Invocation.MAX_NAME_BYTES + " bytes, not " + length);
        }
        return utf8(nameAt, length);
    }

    /** Fails unless all bytes were read. */
    void checkEnd(int at) throws RejectedMessageException {
        if (at < end()) {
            throw malformed(at, end() - at + " bytes are left after the last value");
        }
    }

    /** Checks a string that is a name; returns the position after it. */
    int checkText(int at) throws RejectedMessageException {
        if (at == end() || tag(at) != ValueEncoder.TEXT) {
            throw malformed(Math.min(end(), at + TAG_BYTES), "a name must be a string");
        }
        return next(at);
    }

    private int behind(int at, int length) throws RejectedMessageException {
        if (end() - at < length) {
            throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, "the payload ends inside a value");
        }
        return at + length;
    }

    private int utf8(int at, int length) throws RejectedMessageException {
        if (length > end() - at) {
            throw malformed(at, "a string of " + length + " bytes with " + (end() - at) + " bytes left");
        }
        if (!isUtf8(at, at + length)) {
            throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, "a string at offset " + at + " is not UTF-8");
        }
        return at + length;
    }

    RejectedMessageException malformed(int at, String what) {
        return new RejectedMessageException(
                ErrorCode.MALFORMED_BODY, "malformed payload at offset " + at + ": " + what);
    }

    // ---- checked values

    byte tag(int at) {
        return byteAt(at);
    }

    /** Returns the length of a string or of bytes, or the number of elements or entries of a collection. */
    int length(int at) {
        return intAt(at + TAG_BYTES);
    }

    /** Returns the position after a string. */
    int behindText(int at) {
        return at + TAG_BYTES + COUNT_BYTES + length(at);
    }

    long int64(int at) {
        return longAt(at + TAG_BYTES);
    }

    double float64(int at) {
        return Double.longBitsToDouble(int64(at));
    }

    Value complex(int at) {
        return new Value.Complex(float64(at), float64(at + Double.BYTES));
    }

    String text(int at) {
        return utf8Text(at + TAG_BYTES + COUNT_BYTES, length(at));
    }

    byte[] binary(int at) {
        return part(at + TAG_BYTES + COUNT_BYTES, length(at));
    }

    Tensor tensor(int at) {
        return tensors.get(intAt(at + TAG_BYTES));
    }

    RRef reference(int at) {
        return references.get(intAt(at + TAG_BYTES));
    }

    DType dtype(int at) {
        return DType.of(u8(at + TAG_BYTES));
    }

    SparseTensor sparse(int at) throws RejectedMessageException {
        int flagsAt = at + TAG_BYTES + 2 * Integer.BYTES;
        long[] sizes = new long[byteAt(flagsAt + 1)];
        for (int i = 0; i < sizes.length; i++) {
            sizes[i] = longAt(flagsAt + 2 + i * Long.BYTES);
        }
        try {
            return new SparseTensor(
                    tensor(at), tensor(at + Integer.BYTES), sizes, byteAt(flagsAt) == ValueEncoder.COALESCED_BIT);
        } catch (IllegalArgumentException e) {
            throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, e.getMessage(), e);
        }
    }

    Device device(int at) throws RejectedMessageException {
        int lengthAt = at + TAG_BYTES + 1;
        String type = utf8Text(lengthAt + 1, u8(lengthAt));
        try {
            return new Device(type, byteAt(at + TAG_BYTES));
        } catch (IllegalArgumentException e) {
            throw new RejectedMessageException(ErrorCode.MALFORMED_BODY, e.getMessage(), e);
        }
    }

    /** Returns the first two bytes of a call: the length of its name, and its mode. */
    int firstTwoBytes(int at) {
        return u16(at);
    }

    /** Returns the name of a call. */
    String name(int at) {
        return utf8Text(at + Short.BYTES, Invocation.nameLength(firstTwoBytes(at)));
    }

    /** Returns a value with everything nested in it. */
    Value value(int at) throws RejectedMessageException {
        return new ValueDecoder(this, at).read();
    }

    /** Returns the keys of the outermost dict, or of the named arguments. */
    CheckedKeys keys() {
        return keys;
    }
}
