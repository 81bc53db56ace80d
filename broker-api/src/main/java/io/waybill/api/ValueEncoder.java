package io.waybill.api;

import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.UnaryOperator;

/**
 * Writes values as bytes, and collects the tensors among them. {@code docs/reference/values.md} has the bytes.
 *
 * <p>Reusable after {@link #reset()}. For one thread at a time. Grows its array, and allocates nothing else for scalars.
 */
public final class ValueEncoder {

    /** Maximum nesting of lists, tuples and dicts. */
    public static final int MAX_NESTING = 32;

    static final byte NONE = 0;
    static final byte FALSE = 1;
    static final byte TRUE = 2;
    static final byte INT = 3;
    static final byte FLOAT = 4;
    static final byte COMPLEX = 5;
    static final byte TEXT = 6;
    static final byte BINARY = 7;
    static final byte TENSOR = 8;
    static final byte LIST = 9;
    static final byte TUPLE = 10;
    static final byte DICT = 11;
    static final byte DEVICE = 12;
    static final byte DTYPE = 13;
    static final byte SPARSE = 14;
    static final byte RREF = 15;

    static final int COALESCED_BIT = 1;

    private static final int SPARE_BYTES = 1024; // avoids a second copy of a large field when small ones follow

    private final List<Tensor> tensors = new ArrayList<>();
    private final List<Tensor> tensorsView = Collections.unmodifiableList(tensors);
    private final UnaryOperator<RRef> taken;
    private final List<RRef> references = new ArrayList<>(0);
    private final List<RRef> referencesView = Collections.unmodifiableList(references);
    private byte[] bytes = new byte[256];
    private int length;

    public ValueEncoder() {
        this(UnaryOperator.identity());
    }

    /**
     * Creates an encoder.
     *
     * @param taken maps each written reference to the one that {@link #references()} returns, such as an additional
     *     handle
     */
    public ValueEncoder(UnaryOperator<RRef> taken) {
        this.taken = Objects.requireNonNull(taken);
    }

    /** Discards everything written. */
    public ValueEncoder reset() {
        length = 0;
        tensors.clear();
        references.clear();
        return this;
    }

    /** Writes one value with everything nested in it. */
    public ValueEncoder value(Value value) {
        write(value, 0);
        return this;
    }

    ValueEncoder text(String value) {
        byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
        room(5 + (long) utf8.length);
        put8(TEXT);
        put32(utf8.length);
        put(utf8);
        return this;
    }

    ValueEncoder int64(long value) {
        room(9);
        put8(INT);
        put64(value);
        return this;
    }

    ValueEncoder float64(double value) {
        room(9);
        put8(FLOAT);
        put64(Double.doubleToRawLongBits(value));
        return this;
    }

    ValueEncoder bool(boolean value) {
        room(1);
        put8(value ? TRUE : FALSE);
        return this;
    }

    ValueEncoder binary(ByteBuffer value) {
        room(5 + (long) value.remaining());
        put8(BINARY);
        put32(value.remaining());
        return copied(value);
    }

    ValueEncoder tensor(Tensor value) {
        room(5);
        put8(TENSOR);
        put32(tensors.size());
        tensors.add(value);
        return this;
    }

    /** Writes a tag with a count that {@link #patchCount} sets later; returns the count's position. */
    int openCollection(byte tag) {
        room(5);
        put8(tag);
        put32(0);
        return length - Integer.BYTES;
    }

    /** Writes a count without a tag; returns the count's position. */
    int openCount() {
        room(4);
        put32(0);
        return length - Integer.BYTES;
    }

    void patchCount(int at, int count) {
        int end = length;
        length = at;
        put32(count);
        length = end;
    }

    /** Removes bytes that were written. */
    void cut(int from, int to) {
        System.arraycopy(bytes, to, bytes, from, length - to);
        length -= to - from;
    }

    /** Returns a view of the bytes written so far. */
    ByteBuffer written() {
        return ByteBuffer.wrap(bytes, 0, length);
    }

    /** Writes raw bytes, without a tag. */
    ValueEncoder raw(ByteBuffer values) {
        room(values.remaining());
        return copied(values);
    }

    private ValueEncoder copied(ByteBuffer source) {
        int count = source.remaining();
        source.get(source.position(), bytes, length, count);
        length += count;
        return this;
    }

    /** Writes a u16 length and UTF-8, without a tag: the name in an {@link Invocation}. */
    ValueEncoder name(String name) {
        return name(name, 0);
    }

    /** Writes a name as {@link #name(String)} does, with {@code bits} in the free bits of the length. */
    ValueEncoder name(String name, int bits) {
        byte[] utf8 = name.getBytes(StandardCharsets.UTF_8);
        if (utf8.length == 0 || utf8.length > Invocation.MAX_NAME_BYTES) {
            throw new IllegalArgumentException(
                    "an operation's name has 1 to " + Invocation.MAX_NAME_BYTES + " bytes: " + utf8.length);
        }
        room(2 + utf8.length);
        put8(utf8.length | bits);
        put8((utf8.length | bits) >> Byte.SIZE);
        put(utf8);
        return this;
    }

    void addReference(RRef reference) {
        references.add(taken.apply(Objects.requireNonNull(reference)));
    }

    void addTensor(Tensor tensor) {
        tensors.add(tensor);
    }

    private void write(Value value, int depth) {
        if (depth > MAX_NESTING) {
            throw new IllegalArgumentException("values nest at most " + MAX_NESTING + " deep");
        }
        if (value instanceof Value.None) {
            room(1);
            put8(NONE);
        } else if (value instanceof Value.Bool bool) {
            bool(bool.value());
        } else if (value instanceof Value.Int integer) {
            int64(integer.value());
        } else if (value instanceof Value.Float real) {
            float64(real.value());
        } else if (value instanceof Value.Complex complex) {
            room(17);
            put8(COMPLEX);
            put64(Double.doubleToRawLongBits(complex.real()));
            put64(Double.doubleToRawLongBits(complex.imaginary()));
        } else if (value instanceof Value.Text text) {
            text(text.value());
        } else if (value instanceof Value.Binary binary) {
            binary(ByteBuffer.wrap(binary.value()));
        } else if (value instanceof Value.OfTensor tensor) {
            tensor(tensor.value());
        } else if (value instanceof Value.OfSparse sparse) {
            sparse(sparse.value());
        } else if (value instanceof Value.Items items) {
            collection(LIST, items.values(), depth);
        } else if (value instanceof Value.Tuple tuple) {
            collection(TUPLE, tuple.values(), depth);
        } else if (value instanceof Value.Dict dict) {
            patchCount(openCollection(DICT), dict.entries().size());
            for (Map.Entry<Value, Value> entry : dict.entries().entrySet()) {
                write(entry.getKey(), depth + 1);
                write(entry.getValue(), depth + 1);
            }
        } else if (value instanceof Value.OfDevice device) {
            byte[] type = device.value().type().getBytes(StandardCharsets.US_ASCII);
            room(3 + type.length);
            put8(DEVICE);
            put8(device.value().index());
            put8(type.length);
            put(type);
        } else if (value instanceof Value.OfRRef reference) {
            RRef written = taken.apply(reference.value());
            references.add(written);
            room(5);
            put8(RREF);
            put32(references.size() - 1);
        } else if (value instanceof Value.OfDType dtype) {
            room(2);
            put8(DTYPE);
            put8(dtype.value().code());
        }
    }

    private void sparse(SparseTensor value) {
        room(11 + 8L * value.dimensions());
        put8(SPARSE);
        put32(tensors.size());
        put32(tensors.size() + 1);
        tensors.add(value.indices());
        tensors.add(value.values());
        put8(value.isCoalesced() ? COALESCED_BIT : 0);
        put8(value.dimensions());
        for (int i = 0; i < value.dimensions(); i++) {
            put64(value.size(i));
        }
    }

    private void collection(byte tag, List<Value> values, int depth) {
        patchCount(openCollection(tag), values.size());
        for (Value element : values) {
            write(element, depth + 1);
        }
    }

    private void put8(int value) {
        bytes[length++] = (byte) value;
    }

    private void put32(int value) {
        byte[] to = bytes;
        int at = length;
        to[at] = (byte) value;
        to[at + 1] = (byte) (value >> 8);
        to[at + 2] = (byte) (value >> 16);
        to[at + 3] = (byte) (value >> 24);
        length = at + Integer.BYTES;
    }

    private void put64(long value) {
        put32((int) value);
        put32((int) (value >> Integer.SIZE));
    }

    private void put(byte[] source) {
        System.arraycopy(source, 0, bytes, length, source.length);
        length += source.length;
    }

    private void room(long more) {
        if (bytes.length - length < more) {
            long wanted = length + more;
            if (wanted > Integer.MAX_VALUE - 8) {
                throw new IllegalArgumentException("a payload has less than 2 GiB: " + wanted + " bytes");
            }
            long grown = Math.max(wanted + SPARE_BYTES, 2L * bytes.length);
            bytes = Arrays.copyOf(bytes, (int) Math.min(Integer.MAX_VALUE - 8, grown));
        }
    }

    /** Returns the number of bytes written so far. */
    public int length() {
        return length;
    }

    /**
     * Returns the array that contains the written bytes, from index 0 for {@link #length()} bytes. Valid until the next
     * write.
     */
    public byte[] array() {
        return bytes;
    }

    /** Returns a copy of the written bytes. */
    public byte[] toBytes() {
        return Arrays.copyOf(bytes, length);
    }

    /** Returns the tensors written so far, in the order of their indices: a read-only view. */
    public List<Tensor> tensors() {
        return tensorsView;
    }

    /** Returns the references written so far, in the order of their indices: a read-only view. */
    public List<RRef> references() {
        return referencesView;
    }
}
