package io.waybill.cli.conformance.play;

import io.waybill.api.DType;
import io.waybill.api.Storage;
import io.waybill.api.Tensor;
import io.waybill.api.Value;
import io.waybill.cli.conformance.format.Datum;
import io.waybill.cli.conformance.format.Fields;
import io.waybill.cli.conformance.format.FormatException;
import io.waybill.tensor.HostMemory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Makes dense tensors of what a file says: elements, or a rule for them.
 *
 * <p><b>Threads.</b> One. <b>Ownership.</b> Owns the storages; closing releases them.
 */
final class TensorMaker implements AutoCloseable {

    /** Elements of one tensor: a file is small, a rule need not be. */
    private static final long MAX_ELEMENTS = 1L << 28;

    private static final Set<String> RULES = Set.of("data", "ones", "zeros", "full", "arange", "eye", "view");
    private static final Set<String> FIELDS = Set.of(
            "data",
            "ones",
            "zeros",
            "full",
            "arange",
            "eye",
            "view",
            "shape",
            "strides",
            "offset",
            "dtype",
            "value",
            "requires_grad");

    private final HostMemory memory;
    private final List<Storage> storages = new ArrayList<>();

    TensorMaker(HostMemory memory) {
        this.memory = memory;
    }

    boolean makes(Fields fields) {
        return fields.names().stream().anyMatch(RULES::contains);
    }

    static DType dtype(Fields fields) throws FormatException {
        String name = fields.text("dtype", DType.FLOAT32.torchName());
        for (DType dtype : DType.values()) {
            if (dtype.torchName().equals(name)) {
                return dtype;
            }
        }
        throw new FormatException("no element type is called " + name);
    }

    Tensor make(Fields fields, ValueMaker values) throws FormatException {
        fields.only(FIELDS);
        try {
            return checked(fields, values);
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw new FormatException(e.getMessage(), e);
        }
    }

    private Tensor checked(Fields fields, ValueMaker values) throws FormatException {
        boolean requiresGrad = fields.truth("requires_grad", false);
        DType dtype = dtype(fields);
        long[] shape = fields.has("shape") ? sizes(fields.require("shape"), values) : null;
        if (fields.has("view")) {
            return view(fields, values, shape, requiresGrad);
        } else if (fields.has("data")) {
            return data(fields.require("data"), shape, dtype, requiresGrad);
        } else if (fields.has("arange")) {
            return arange(Math.toIntExact(fields.whole("arange", 0, 0, MAX_ELEMENTS)), shape, dtype, requiresGrad);
        } else if (fields.has("eye")) {
            return eye((int) fields.whole("eye", 0, 0, 1 << 12), dtype, requiresGrad);
        } else if (fields.has("full")) {
            return full(sizes(fields.require("full"), values), dtype, element(fields, values), requiresGrad);
        }
        boolean ones = fields.has("ones");
        Datum element = dtype == DType.BOOL ? new Datum.Truth(ones) : new Datum.Whole(ones ? 1 : 0);
        return full(sizes(fields.require(ones ? "ones" : "zeros"), values), dtype, element, requiresGrad);
    }

    /** The element of a full tensor: a number, or the name of one. */
    private static Datum element(Fields fields, ValueMaker values) throws FormatException {
        Datum element = fields.require("value");
        if (element instanceof Datum.Text && values.value(element) instanceof Value.Int whole) {
            return new Datum.Whole(whole.value());
        }
        return element;
    }

    /** Sizes: numbers, or the names of some. */
    long[] sizes(Datum datum, ValueMaker values) throws FormatException {
        if (values.value(datum) instanceof Value.Items items) {
            long[] sizes = new long[items.values().size()];
            for (int i = 0; i < sizes.length; i++) {
                if (!(items.values().get(i) instanceof Value.Int size)) {
                    throw new FormatException("sizes are whole numbers, not " + datum.described());
                }
                sizes[i] = size.value();
            }
            return sizes;
        }
        throw new FormatException("expected an array of sizes, found " + datum.described());
    }

    Tensor data(Datum nested, long[] shape, DType dtype, boolean requiresGrad) throws FormatException {
        TensorData data = TensorData.of(nested);
        List<Datum> elements = data.elements();
        return filled(data.sizes(shape), dtype, requiresGrad, elements::get);
    }

    private Tensor full(long[] sizes, DType dtype, Datum element, boolean requiresGrad) throws FormatException {
        return filled(sizes, dtype, requiresGrad, i -> element);
    }

    private Tensor arange(int count, long[] shape, DType dtype, boolean requiresGrad) throws FormatException {
        return filled(shape == null ? new long[] {count} : shape, dtype, requiresGrad, Datum.Whole::new);
    }

    private Tensor eye(int size, DType dtype, boolean requiresGrad) throws FormatException {
        long[] sizes = {size, size};
        return filled(sizes, dtype, requiresGrad, i -> new Datum.Whole(i / size == i % size ? 1 : 0));
    }

    /** The element at a place in row-major order. */
    @FunctionalInterface
    private interface Rule {
        Datum at(int place);
    }

    private Tensor filled(long[] sizes, DType dtype, boolean requiresGrad, Rule rule) throws FormatException {
        long count = Tensor.elementCount(sizes);
        if (count > MAX_ELEMENTS) {
            throw new FormatException("a tensor here has at most " + MAX_ELEMENTS + " elements, not " + count);
        }
        int size = dtype.sizeBytes();
        Storage storage = memory.allocate(Math.multiplyExact(count, size));
        storages.add(storage);
        if (count > 0) {
            ByteBuffer bytes =
                    storage.bytes(0, Math.toIntExact(storage.sizeBytes())).order(ByteOrder.nativeOrder());
            for (int i = 0; i < count; i++) {
                ElementWriter.put(bytes, i * size, dtype, rule.at(i));
            }
        }
        return new Tensor(dtype, sizes, Tensor.contiguousStrides(sizes), 0, requiresGrad, storage);
    }

    private Tensor view(Fields fields, ValueMaker values, long[] shape, boolean requiresGrad) throws FormatException {
        if (!(values.value(fields.require("view")) instanceof Value.OfTensor whole)) {
            throw new FormatException("a view is one of a tensor, not of "
                    + fields.require("view").described());
        }
        Tensor tensor = whole.value();
        long[] sizes = shape == null ? tensor.sizes() : shape;
        long[] strides = fields.has("strides")
                ? sizes(fields.require("strides"), values)
                : shape == null ? tensor.strides() : Tensor.contiguousStrides(sizes);
        long offset = fields.whole("offset", tensor.storageOffset(), 0, Long.MAX_VALUE);
        return new Tensor(tensor.dtype(), sizes, strides, offset, requiresGrad, tensor.storage());
    }

    @Override
    public void close() {
        storages.forEach(Storage::release);
        storages.clear();
    }
}
