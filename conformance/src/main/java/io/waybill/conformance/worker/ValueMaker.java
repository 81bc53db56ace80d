package io.waybill.conformance.worker;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.conformance.cases.CaseFormatException;
import io.waybill.conformance.cases.CaseJson;
import io.waybill.tensor.HostMemory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/**
 * Makes values from JSON, and keeps those that have names: what steps named, and the case's inputs, which are made when
 * first used.
 *
 * <p><b>Threads.</b> One. <b>Ownership.</b> Owns the storages of the tensors that it made; closing releases them.
 */
final class ValueMaker implements AutoCloseable {

    /** The parts of a sparse tensor. */
    private record SparseSpec(
            @JsonProperty(required = true) JsonNode indices,
            @JsonProperty(required = true) JsonNode values,
            @JsonProperty(required = true) JsonNode shape,
            boolean coalesced,
            DType dtype,
            boolean requiresGrad) {}

    private final TensorMaker tensors;
    private final Map<String, JsonNode> inputs;
    private final UnaryOperator<Value> made;
    private final Map<String, Value> named = new HashMap<>();

    /** @param made replaces a value that was made of an input */
    ValueMaker(HostMemory memory, Map<String, JsonNode> inputs, UnaryOperator<Value> made) {
        this.tensors = new TensorMaker(memory, this);
        this.inputs = inputs;
        this.made = made;
    }

    void set(String name, Value value) {
        named.put(name, value);
    }

    /** Returns what is called so; {@code p.1} is element 1 of the list or tuple {@code p}. */
    Value get(String name) {
        int dot = name.lastIndexOf('.');
        Value whole = dot > 0 ? named.get(name.substring(0, dot)) : null;
        if (whole instanceof Value.Items items) {
            return items.values().get(Integer.parseInt(name.substring(dot + 1)));
        } else if (whole instanceof Value.Tuple tuple) {
            return tuple.values().get(Integer.parseInt(name.substring(dot + 1)));
        }
        if (!named.containsKey(name)) {
            JsonNode input = inputs.get(name);
            if (input == null) {
                throw new CaseFormatException("nothing is called '$" + name + "' on this worker, expected one of "
                        + named.keySet() + " and of the inputs " + inputs.keySet());
            } else if (input.asText().startsWith("$")) {
                throw new CaseFormatException("the input '" + name + "' is the name of another");
            }
            named.put(name, made.apply(value(input)));
        }
        return named.get(name);
    }

    Value value(JsonNode json) {
        return switch (json.getNodeType()) {
            case BOOLEAN -> Value.of(json.booleanValue());
            case NUMBER -> number(json);
            case STRING -> text(json.textValue());
            case ARRAY -> new Value.Items(values(json));
            case OBJECT -> object(json);
            default -> Value.NONE;
        };
    }

    List<Value> values(Iterable<JsonNode> json) {
        List<Value> values = new ArrayList<>();
        json.forEach(each -> values.add(value(each)));
        return values;
    }

    Map<String, Value> named(Map<String, JsonNode> json) {
        Map<String, Value> values = new LinkedHashMap<>();
        json.forEach((name, value) -> values.put(name, value(value)));
        return values;
    }

    private static Value number(JsonNode json) {
        if (json.isIntegralNumber() && !json.canConvertToLong()) {
            throw new CaseFormatException("an int has 64 bits: " + json);
        }
        return json.isIntegralNumber() ? Value.of(json.longValue()) : Value.of(json.doubleValue());
    }

    private Value text(String text) {
        if (text.startsWith("$$")) {
            return Value.of(text.substring(1));
        }
        return text.startsWith("$") ? get(text.substring(1)) : Value.of(text);
    }

    private Value object(JsonNode json) {
        try {
            if (TensorMaker.isTensor(json)) {
                return Value.of(tensors.make(json));
            }
            String kind = json.size() == 1 ? json.fieldNames().next() : "";
            JsonNode of = json.path(kind);
            return switch (kind) {
                case "sparse" -> sparse(CaseJson.convert(of, SparseSpec.class));
                case "tuple" -> new Value.Tuple(values(of));
                case "dict" -> dict(of);
                case "text" -> Value.of(of.asText());
                case "float" -> Value.of(ElementWriter.real(of));
                case "complex" -> complex(of);
                case "bytes" -> new Value.Binary(HexFormat.of().parseHex(of.asText()));
                case "dtype" -> Value.of(CaseJson.convert(of, DType.class));
                case "device" -> Value.of(Device.parse(of.asText()));
                default ->
                    throw new CaseFormatException("no value is called " + CaseJson.names(json)
                            + ", expected one field: sparse, tuple, dict, text, float, complex, bytes, dtype, device, or"
                            + " those of a tensor");
            };
        } catch (CaseFormatException e) {
            throw e;
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw new CaseFormatException("a value of " + CaseJson.names(json) + ": " + e.getMessage(), e);
        }
    }

    private static Value complex(JsonNode parts) {
        if (parts.size() != 2) {
            throw new CaseFormatException("a complex number has two parts, not " + parts);
        }
        return new Value.Complex(ElementWriter.real(parts.get(0)), ElementWriter.real(parts.get(1)));
    }

    private Value dict(JsonNode json) {
        Map<Value, Value> entries = new LinkedHashMap<>();
        json.properties().forEach(entry -> entries.put(Value.of(entry.getKey()), value(entry.getValue())));
        for (JsonNode pair : json.isArray() ? json : CaseJson.object()) {
            if (!pair.isArray() || pair.size() != 2) {
                throw new CaseFormatException("an entry of a dict is [key, value], not " + pair);
            }
            entries.put(value(pair.get(0)), value(pair.get(1)));
        }
        return new Value.Dict(entries);
    }

    private Value sparse(SparseSpec spec) {
        return Value.of(new SparseTensor(
                tensors.dense(spec.indices, DType.INT64, false),
                tensors.dense(spec.values, spec.dtype == null ? DType.FLOAT32 : spec.dtype, spec.requiresGrad),
                sizes(spec.shape),
                spec.coalesced));
    }

    /** Sizes: an array of ints, or of the names of some, or the name of one. */
    long[] sizes(JsonNode json) {
        if (value(json) instanceof Value.Items items) {
            return items.values().stream()
                    .mapToLong(size -> {
                        if (size instanceof Value.Int whole) {
                            return whole.value();
                        }
                        throw new CaseFormatException("sizes are whole numbers, not " + json);
                    })
                    .toArray();
        }
        throw new CaseFormatException("expected an array of sizes, found " + json);
    }

    @Override
    public void close() {
        tensors.close();
    }
}
