package io.waybill.cli.conformance.play;

import io.waybill.api.DType;
import io.waybill.api.Device;
import io.waybill.api.SparseTensor;
import io.waybill.api.Value;
import io.waybill.cli.conformance.format.Datum;
import io.waybill.cli.conformance.format.Fields;
import io.waybill.cli.conformance.format.FormatException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Makes values of what a file says of them.
 *
 * <p><b>Threads.</b> One.
 */
final class ValueMaker {

    private static final Set<String> SPARSE = Set.of("sparse");
    private static final Set<String> PARTS =
            Set.of("indices", "values", "shape", "coalesced", "dtype", "requires_grad");

    private final TensorMaker tensors;
    private final Variables variables;

    ValueMaker(TensorMaker tensors, Variables variables) {
        this.tensors = tensors;
        this.variables = variables;
    }

    Value value(Datum datum) throws FormatException {
        if (datum instanceof Datum.Truth truth) {
            return Value.of(truth.value());
        } else if (datum instanceof Datum.Whole whole) {
            return Value.of(whole.value());
        } else if (datum instanceof Datum.Real real) {
            return Value.of(real.value());
        } else if (datum instanceof Datum.Text text) {
            return text(text.value());
        } else if (datum instanceof Datum.Row row) {
            return new Value.Items(values(row.values()));
        } else if (datum instanceof Datum.Record) {
            return object(Fields.of("a value", datum));
        }
        return Value.NONE;
    }

    List<Value> values(List<Datum> data) throws FormatException {
        List<Value> values = new ArrayList<>(data.size());
        for (Datum datum : data) {
            values.add(value(datum));
        }
        return values;
    }

    Map<String, Value> named(Map<String, Datum> data) throws FormatException {
        Map<String, Value> named = new LinkedHashMap<>();
        for (Map.Entry<String, Datum> entry : data.entrySet()) {
            named.put(entry.getKey(), value(entry.getValue()));
        }
        return named;
    }

    private Value text(String text) throws FormatException {
        if (text.startsWith("$$")) {
            return Value.of(text.substring(1));
        }
        return text.startsWith("$") ? variables.find(text.substring(1), this::value) : Value.of(text);
    }

    private Value object(Fields fields) throws FormatException {
        if (tensors.makes(fields)) {
            return Value.of(tensors.make(fields, this));
        } else if (fields.has("sparse")) {
            return Value.of(sparse(Fields.of("sparse", fields.only(SPARSE).require("sparse"))));
        }
        if (fields.names().size() != 1) {
            throw new FormatException("no value has the fields " + fields.names());
        }
        String kind = fields.names().iterator().next();
        switch (kind) {
            case "tuple":
                return new Value.Tuple(values(fields.row(kind)));
            case "dict":
                return dict(fields.require(kind));
            case "text":
                return Value.of(fields.text(kind));
            case "float":
                return Value.of(ElementWriter.real(fields.require(kind)));
            case "complex":
                List<Datum> parts = fields.row(kind);
                if (parts.size() != 2) {
                    throw new FormatException("a complex number has two parts, not " + parts.size());
                }
                return new Value.Complex(ElementWriter.real(parts.get(0)), ElementWriter.real(parts.get(1)));
            case "bytes":
                return bytes(fields.text(kind));
            case "dtype":
                return Value.of(TensorMaker.dtype(fields));
            case "device":
                return device(fields.text(kind));
            default:
                throw new FormatException("no value is called '" + kind
                        + "'; there are data, ones, zeros, full, arange, eye, view, sparse, tuple, dict, text, float,"
                        + " complex, bytes, dtype and device");
        }
    }

    private Value dict(Datum datum) throws FormatException {
        Map<Value, Value> entries = new LinkedHashMap<>();
        if (datum instanceof Datum.Row pairs) {
            for (Datum pair : pairs.values()) {
                if (!(pair instanceof Datum.Row row) || row.values().size() != 2) {
                    throw new FormatException("an entry of a dict is [key, value], not " + pair.described());
                }
                entries.put(value(row.values().get(0)), value(row.values().get(1)));
            }
        } else {
            for (String name : Fields.of("dict", datum).names()) {
                entries.put(Value.of(name), value(Fields.of("dict", datum).require(name)));
            }
        }
        return new Value.Dict(entries);
    }

    private static Value bytes(String hex) throws FormatException {
        try {
            return new Value.Binary(HexFormat.of().parseHex(hex));
        } catch (IllegalArgumentException e) {
            throw new FormatException("bytes are written in hexadecimal: " + e.getMessage(), e);
        }
    }

    private static Value device(String text) throws FormatException {
        try {
            return Value.of(Device.parse(text));
        } catch (IllegalArgumentException e) {
            throw new FormatException(e.getMessage(), e);
        }
    }

    private SparseTensor sparse(Fields fields) throws FormatException {
        fields.only(PARTS);
        DType dtype = TensorMaker.dtype(fields);
        boolean requiresGrad = fields.truth("requires_grad", false);
        try {
            return new SparseTensor(
                    tensors.data(fields.require("indices"), null, DType.INT64, false),
                    tensors.data(fields.require("values"), null, dtype, requiresGrad),
                    tensors.sizes(fields.require("shape"), this),
                    fields.truth("coalesced", false));
        } catch (IllegalArgumentException e) {
            throw new FormatException(e.getMessage(), e);
        }
    }
}
