package io.waybill.api;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Argument or result of a call: the kinds of value that libtorch's operators accept and return. Immutable, apart from
 * the bytes of tensors.
 *
 * <p>{@link ValueEncoder} and {@link ValueDecoder} convert values to bytes and back.
 */
public sealed interface Value {

    /** Nothing: Python's {@code None}. */
    Value NONE = new None();

    /** Absence of a value; use {@link #NONE}. */
    record None() implements Value {
        @Override
        public String toString() {
            return "None";
        }
    }

    /** A truth value. */
    record Bool(boolean value) implements Value {}

    /** A signed 64-bit integer. */
    record Int(long value) implements Value {}

    /** A 64-bit floating-point number. */
    record Float(double value) implements Value {}

    /** A complex number of two 64-bit floats. */
    record Complex(double real, double imaginary) implements Value {}

    /** A string. */
    record Text(String value) implements Value {
        public Text {
            Objects.requireNonNull(value);
        }

        // written out, because the generated methods take 20 ms to link their method handles at their first use
        @Override
        public boolean equals(Object other) {
            return other instanceof Text text && value.equals(text.value);
        }

        @Override
        public int hashCode() {
            return value.hashCode();
        }
    }

    /** Raw bytes. The value owns the array: do not write to it. */
    record Binary(byte[] value) implements Value {
        public Binary {
            Objects.requireNonNull(value);
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Binary binary && java.util.Arrays.equals(value, binary.value);
        }

        @Override
        public int hashCode() {
            return java.util.Arrays.hashCode(value);
        }

        @Override
        public String toString() {
            return "Binary[" + value.length + " bytes]";
        }
    }

    /**
     * A tensor, sent beside the payload, which contains its index. Equal only to a value with the same tensor object.
     */
    record OfTensor(Tensor value) implements Value {
        public OfTensor {
            Objects.requireNonNull(value);
        }
    }

    /**
     * A sparse tensor, whose two dense tensors are sent beside the payload. Equal only to a value with the same sparse
     * tensor object.
     */
    record OfSparse(SparseTensor value) implements Value {
        public OfSparse {
            Objects.requireNonNull(value);
        }
    }

    /** A list. */
    record Items(List<Value> values) implements Value {
        public Items {
            values = List.copyOf(values);
        }
    }

    /** A tuple. */
    record Tuple(List<Value> values) implements Value {
        public Tuple {
            values = List.copyOf(values);
        }
    }

    /** A dict, in insertion order. */
    record Dict(Map<Value, Value> entries) implements Value {
        public Dict {
            entries = Collections.unmodifiableMap(new LinkedHashMap<>(entries));
        }
    }

    /** A remote reference, sent beside the payload, which contains its index. */
    record OfRRef(RRef value) implements Value {
        public OfRRef {
            Objects.requireNonNull(value);
        }
    }

    /** A device. */
    record OfDevice(Device value) implements Value {
        public OfDevice {
            Objects.requireNonNull(value);
        }
    }

    /** An element type. */
    record OfDType(DType value) implements Value {
        public OfDType {
            Objects.requireNonNull(value);
        }
    }

    static Value of(boolean value) {
        return new Bool(value);
    }

    static Value of(long value) {
        return new Int(value);
    }

    static Value of(double value) {
        return new Float(value);
    }

    static Value of(String value) {
        return new Text(value);
    }

    static Value of(byte[] value) {
        return new Binary(value.clone());
    }

    static Value of(Tensor value) {
        return new OfTensor(value);
    }

    static Value of(SparseTensor value) {
        return new OfSparse(value);
    }

    static Value of(RRef value) {
        return new OfRRef(value);
    }

    static Value of(Device value) {
        return new OfDevice(value);
    }

    static Value of(DType value) {
        return new OfDType(value);
    }

    static Value list(Value... values) {
        return new Items(List.of(values));
    }

    static Value tuple(Value... values) {
        return new Tuple(List.of(values));
    }

    /** Creates a list of integers, such as the sizes of a tensor. */
    static Value ints(long... values) {
        List<Value> items = new ArrayList<>(values.length);
        for (long value : values) {
            items.add(of(value));
        }
        return new Items(items);
    }

    /** Starts a dict whose keys are texts. */
    static DictBuilder dict() {
        return new DictBuilder();
    }

    /** Builder of a dict whose keys are texts, in the order of the calls. Not thread-safe. */
    final class DictBuilder {
        private final Map<Value, Value> entries = new LinkedHashMap<>();

        private DictBuilder() {}

        /** Adds an entry, or replaces the one of this key. */
        public DictBuilder put(String key, Value value) {
            entries.put(of(key), Objects.requireNonNull(value));
            return this;
        }

        public DictBuilder put(String key, String value) {
            return put(key, of(value));
        }

        public DictBuilder put(String key, long value) {
            return put(key, of(value));
        }

        public DictBuilder put(String key, double value) {
            return put(key, of(value));
        }

        public DictBuilder put(String key, boolean value) {
            return put(key, of(value));
        }

        /** Returns the dict of the entries so far. */
        public Dict build() {
            return new Dict(entries);
        }
    }
}
