package io.waybill.cli.show;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.Value;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import io.waybill.tensor.memory.Element;
import java.io.IOException;
import java.util.Map;

/**
 * Formats a value as JSON. A dict whose keys are strings is an object, any other dict is a list of pairs; a tensor is
 * an object with {@code dtype}, {@code shape}, {@code device} and, up to {@value #MAX_ELEMENTS} elements, {@code data};
 * a sparse one has {@code layout}, {@code coalesced}, {@code indices} and {@code values} instead of {@code data}; a
 * complex number is {@code {"re":…,"im":…}}; a number that JSON lacks is a string. Stateless.
 */
public final class ValueJson {

    /** Max number of elements of a tensor that is shown with its elements. */
    public static final long MAX_ELEMENTS = 10_000;

    private ValueJson() {}

    public static void write(Value value, JsonGenerator json) throws IOException {
        if (value instanceof Value.Bool bool) {
            json.writeBoolean(bool.value());
        } else if (value instanceof Value.Int integer) {
            json.writeNumber(integer.value());
        } else if (value instanceof Value.Float real) {
            number(real.value(), json);
        } else if (value instanceof Value.Complex complex) {
            complex(complex.real(), complex.imaginary(), json);
        } else if (value instanceof Value.Text text) {
            json.writeString(text.value());
        } else if (value instanceof Value.Binary binary) {
            json.writeBinary(binary.value());
        } else if (value instanceof Value.OfTensor tensor) {
            tensor(tensor.value(), json);
        } else if (value instanceof Value.OfSparse sparse) {
            sparse(sparse.value(), json);
        } else if (value instanceof Value.Items items) {
            list(items.values(), json);
        } else if (value instanceof Value.Tuple tuple) {
            list(tuple.values(), json);
        } else if (value instanceof Value.Dict dict) {
            dict(dict, json);
        } else if (value instanceof Value.OfDevice device) {
            json.writeString(device.value().toString());
        } else if (value instanceof Value.OfDType dtype) {
            json.writeString(dtype.value().torchName());
        } else if (value instanceof Value.OfRRef reference) {
            json.writeString(reference.value().toString());
        } else {
            json.writeNull();
        }
    }

    private static void list(Iterable<Value> values, JsonGenerator json) throws IOException {
        json.writeStartArray();
        for (Value value : values) {
            write(value, json);
        }
        json.writeEndArray();
    }

    private static void dict(Value.Dict dict, JsonGenerator json) throws IOException {
        boolean isObject = dict.entries().keySet().stream().allMatch(Value.Text.class::isInstance);
        if (!isObject) {
            json.writeStartArray();
            for (Map.Entry<Value, Value> entry : dict.entries().entrySet()) {
                json.writeStartArray();
                write(entry.getKey(), json);
                write(entry.getValue(), json);
                json.writeEndArray();
            }
            json.writeEndArray();
            return;
        }
        json.writeStartObject();
        for (Map.Entry<Value, Value> entry : dict.entries().entrySet()) {
            json.writeFieldName(((Value.Text) entry.getKey()).value());
            write(entry.getValue(), json);
        }
        json.writeEndObject();
    }

    private static void tensor(Tensor tensor, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("dtype", tensor.dtype().torchName());
        json.writeFieldName("shape");
        json.writeArray(tensor.sizes(), 0, tensor.dimensions());
        json.writeStringField("device", tensor.device().toString());
        if (tensor.device().isCpu() && tensor.elementCount() <= MAX_ELEMENTS) {
            json.writeFieldName("data");
            elements(tensor, 0, tensor.storageOffset(), json);
        }
        json.writeEndObject();
    }

    private static void sparse(SparseTensor tensor, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("dtype", tensor.dtype().torchName());
        json.writeFieldName("shape");
        json.writeArray(tensor.sizes(), 0, tensor.dimensions());
        json.writeStringField("device", tensor.device().toString());
        json.writeStringField("layout", "sparse_coo");
        json.writeBooleanField("coalesced", tensor.isCoalesced());
        json.writeFieldName("indices");
        tensor(tensor.indices(), json);
        json.writeFieldName("values");
        tensor(tensor.values(), json);
        json.writeEndObject();
    }

    private static void elements(Tensor tensor, int dimension, long position, JsonGenerator json) throws IOException {
        if (dimension == tensor.dimensions()) {
            element(Element.at(tensor, position), json);
            return;
        }
        json.writeStartArray();
        for (long i = 0; i < tensor.size(dimension) && tensor.elementCount() > 0; i++) {
            elements(tensor, dimension + 1, position + i * tensor.stride(dimension), json);
        }
        json.writeEndArray();
    }

    private static void element(Object element, JsonGenerator json) throws IOException {
        if (element instanceof Boolean bool) {
            json.writeBoolean(bool);
        } else if (element instanceof Long integer) {
            json.writeNumber(integer);
        } else if (element instanceof Float real && Float.isFinite(real)) {
            json.writeNumber(real);
        } else if (element instanceof Double real) {
            number(real, json);
        } else if (element instanceof double[] complex) {
            complex(complex[0], complex[1], json);
        } else {
            json.writeString(element.toString());
        }
    }

    private static void number(double value, JsonGenerator json) throws IOException {
        if (Double.isFinite(value)) {
            json.writeNumber(value);
        } else {
            json.writeString(Double.toString(value));
        }
    }

    private static void complex(double real, double imaginary, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeFieldName("re");
        number(real, json);
        json.writeFieldName("im");
        number(imaginary, json);
        json.writeEndObject();
    }
}
