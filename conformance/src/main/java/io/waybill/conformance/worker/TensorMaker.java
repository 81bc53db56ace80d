package io.waybill.conformance.worker;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.BooleanNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.LongNode;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.conformance.cases.CaseFormatException;
import io.waybill.conformance.cases.CaseJson;
import io.waybill.tensor.HostMemory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.Stream;

/**
 * Makes tensors from JSON.
 *
 * <p><b>Threads.</b> One. <b>Ownership.</b> Owns the storages; closing releases them.
 */
final class TensorMaker implements AutoCloseable {

    /** Max elements of a tensor. */
    private static final long MAX_ELEMENTS = 1L << 28;

    /** A tensor: by its elements, by a rule, or as a view of another. */
    private record TensorSpec(
            JsonNode data,
            JsonNode ones,
            JsonNode zeros,
            JsonNode full,
            JsonNode value,
            Integer arange,
            Integer eye,
            JsonNode view,
            JsonNode shape,
            JsonNode strides,
            Long offset,
            DType dtype,
            boolean requiresGrad) {

        private TensorSpec {
            dtype = dtype == null ? DType.FLOAT32 : dtype;
        }
    }

    private final HostMemory memory;
    private final ValueMaker values;
    private final List<Storage> storages = new ArrayList<>();

    TensorMaker(HostMemory memory, ValueMaker values) {
        this.memory = memory;
        this.values = values;
    }

    static boolean isTensor(JsonNode json) {
        return Stream.of("data", "ones", "zeros", "full", "arange", "eye", "view")
                .anyMatch(json::has);
    }

    Tensor make(JsonNode json) {
        TensorSpec spec = CaseJson.convert(json, TensorSpec.class);
        long[] shape = spec.shape == null ? null : values.sizes(spec.shape);
        if (spec.view != null) {
            return view(spec, shape);
        } else if (spec.data != null) {
            return data(spec.data, shape, spec.dtype, spec.requiresGrad);
        } else if (spec.arange != null) {
            return filled(
                    shape == null ? new long[] {spec.arange} : shape, spec.dtype, spec.requiresGrad, IntNode::new);
        } else if (spec.eye != null) {
            int size = spec.eye;
            return filled(
                    new long[] {size, size},
                    spec.dtype,
                    spec.requiresGrad,
                    i -> number(spec.dtype, i / size == i % size));
        } else if (spec.full != null) {
            JsonNode element = element(json.path("value"));
            return filled(values.sizes(spec.full), spec.dtype, spec.requiresGrad, i -> element);
        }
        JsonNode element = number(spec.dtype, spec.ones != null);
        return filled(
                values.sizes(spec.ones != null ? spec.ones : spec.zeros), spec.dtype, spec.requiresGrad, i -> element);
    }

    /** A tensor of nested elements. */
    Tensor dense(JsonNode nested, DType dtype, boolean requiresGrad) {
        return data(nested, null, dtype, requiresGrad);
    }

    private static JsonNode number(DType dtype, boolean isOne) {
        return dtype == DType.BOOL ? BooleanNode.valueOf(isOne) : IntNode.valueOf(isOne ? 1 : 0);
    }

    /** The element of a full tensor: a number, or the name of one. */
    private JsonNode element(JsonNode json) {
        return json.isTextual() && values.value(json) instanceof Value.Int whole
                ? LongNode.valueOf(whole.value())
                : json;
    }

    private Tensor data(JsonNode nested, long[] shape, DType dtype, boolean requiresGrad) {
        List<JsonNode> elements = new ArrayList<>();
        List<Long> sizes = new ArrayList<>();
        flatten(nested, 0, elements, sizes);
        long[] own = sizes.stream().mapToLong(Long::longValue).toArray();
        boolean isFlat = shape != null && own.length <= 1 && Tensor.elementCount(shape) == elements.size();
        if (shape != null && !isFlat && !Arrays.equals(shape, own)) {
            throw new CaseFormatException("the elements have the sizes " + Arrays.toString(own) + ", and the shape is "
                    + Arrays.toString(shape));
        }
        return filled(shape == null ? own : shape, dtype, requiresGrad, elements::get);
    }

    private static void flatten(JsonNode json, int depth, List<JsonNode> elements, List<Long> sizes) {
        boolean isNew = depth == sizes.size();
        if (!json.isArray()) {
            if (!isNew) {
                throw new CaseFormatException("expected an array at depth " + depth + ", found " + json);
            }
            elements.add(json);
            return;
        } else if (isNew && !elements.isEmpty()) {
            throw new CaseFormatException("expected an element at depth " + depth + ", found " + json);
        } else if (isNew) {
            sizes.add((long) json.size());
        } else if (sizes.get(depth) != json.size()) {
            throw new CaseFormatException(
                    "expected " + sizes.get(depth) + " values at depth " + depth + ", found " + json.size());
        }
        json.forEach(each -> flatten(each, depth + 1, elements, sizes));
    }

    /** @param rule gives the element at a position in row-major order */
    private Tensor filled(long[] sizes, DType dtype, boolean requiresGrad, IntFunction<JsonNode> rule) {
        long count = Tensor.elementCount(sizes);
        if (count > MAX_ELEMENTS) {
            throw new CaseFormatException("a tensor here has at most " + MAX_ELEMENTS + " elements, not " + count);
        }
        int size = dtype.sizeBytes();
        Storage storage = memory.allocate(Math.multiplyExact(count, size));
        storages.add(storage);
        if (count > 0) {
            ByteBuffer bytes =
                    storage.bytes(0, Math.toIntExact(storage.sizeBytes())).order(ByteOrder.nativeOrder());
            for (int i = 0; i < count; i++) {
                ElementWriter.put(bytes, i * size, dtype, rule.apply(i));
            }
        }
        return new Tensor(dtype, sizes, Tensor.contiguousStrides(sizes), 0, requiresGrad, storage);
    }

    private Tensor view(TensorSpec spec, long[] shape) {
        if (!(values.value(spec.view) instanceof Value.OfTensor whole)) {
            throw new CaseFormatException("a view is one of a tensor, not of " + spec.view);
        }
        Tensor tensor = whole.value();
        long[] sizes = shape == null ? tensor.sizes() : shape;
        long[] strides = shape == null ? tensor.strides() : Tensor.contiguousStrides(sizes);
        return new Tensor(
                tensor.dtype(),
                sizes,
                spec.strides == null ? strides : values.sizes(spec.strides),
                spec.offset == null ? tensor.storageOffset() : spec.offset,
                spec.requiresGrad,
                tensor.storage());
    }

    @Override
    public void close() {
        storages.forEach(Storage::release);
        storages.clear();
    }
}
