package io.waybill.cli.conformance.play;

import io.waybill.api.SparseTensor;
import io.waybill.api.Tensor;
import io.waybill.api.Value;
import io.waybill.cli.conformance.format.Datum;
import io.waybill.cli.conformance.format.Fields;
import io.waybill.cli.conformance.format.FormatException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * What has to come of a step. For one use, by one thread.
 *
 * <p>A field of the file is a demand; what is wrong is said of all of them at once.
 */
final class Expectation {

    private final Fields fields;
    private final ValueMaker maker;
    private final List<String> wrong = new ArrayList<>();

    private Expectation(Fields fields, ValueMaker maker) {
        this.fields = fields;
        this.maker = maker;
    }

    /** What is wrong with an outcome; empty when it is as expected. Without an expectation everything but an error is. */
    static Optional<String> wrongWith(Outcome outcome, Optional<Datum> expected, ValueMaker maker)
            throws FormatException {
        if (expected.isEmpty()) {
            return outcome instanceof Outcome.Failure failure
                    ? Optional.of("expected no error, found " + failure)
                    : Optional.empty();
        }
        Expectation expectation = new Expectation(Fields.of("expect", expected.get()), maker);
        if (outcome instanceof Outcome.Failure failure) {
            expectation.failed(failure);
        } else if (outcome instanceof Outcome.Answer answer) {
            expectation.answered(answer.value());
        }
        return expectation.wrong.isEmpty() ? Optional.empty() : Optional.of(String.join("; ", expectation.wrong));
    }

    private void demand(boolean holds, String what, Object expected, Object found) {
        if (!holds) {
            wrong.add("expected " + what + " " + expected + ", found " + found);
        }
    }

    private void failed(Outcome.Failure failure) throws FormatException {
        if (fields.has("error")) {
            new ExpectedError(Fields.of("error", fields.require("error")))
                    .differences(failure)
                    .forEach(wrong::add);
        } else {
            wrong.add("expected no error, found " + failure);
        }
    }

    private void answered(Value value) throws FormatException {
        if (fields.has("error")) {
            wrong.add("expected an error, found " + Comparison.shown(value));
            return;
        }
        if (fields.has("type")) {
            demand(fields.text("type").equals(type(value)), "type", fields.text("type"), type(value));
        }
        if (fields.has("value")) {
            compare(maker.value(fields.require("value")), value);
        }
        if (fields.has("counters")) {
            counters(fields.object("counters"), value);
        }
        tensor(value);
        sparse(value);
        items(value);
    }

    private static String type(Value value) {
        String name = value.getClass().getSimpleName().toLowerCase(Locale.ROOT);
        return name.startsWith("of") ? name.substring(2) : name.equals("items") ? "list" : name;
    }

    private void compare(Value expected, Value found) throws FormatException {
        Tolerance tolerance = fields.has("tolerance")
                ? Tolerance.of(Fields.of("tolerance", fields.require("tolerance")))
                : Tolerance.EXACT;
        new Comparison(tolerance).difference(expected, found).ifPresent(wrong::add);
    }

    private void counters(Map<String, Datum> expected, Value found) throws FormatException {
        Map<Value, Value> counted = ((Value.Dict) found).entries();
        for (Map.Entry<String, Datum> entry : expected.entrySet()) {
            Value count = counted.get(Value.of(entry.getKey()));
            if (count == null) {
                throw new FormatException("no counter is called " + entry.getKey() + "; there are " + counted.keySet());
            }
            demand(
                    count.equals(maker.value(entry.getValue())),
                    entry.getKey(),
                    entry.getValue().described(),
                    Comparison.shown(count));
        }
    }

    private void tensor(Value value) throws FormatException {
        Tensor dense = value instanceof Value.OfTensor tensor ? tensor.value() : null;
        SparseTensor sparse = value instanceof Value.OfSparse tensor ? tensor.value() : null;
        if (dense == null && sparse == null) {
            requireNone(
                    "a tensor",
                    "dtype",
                    "shape",
                    "requires_grad",
                    "strides",
                    "offset",
                    "storage_elements",
                    "contiguous",
                    "dense",
                    "coalesced",
                    "nnz");
            return;
        }
        String dtype = (dense == null ? sparse.dtype() : dense.dtype()).torchName();
        if (fields.has("dtype")) {
            demand(fields.text("dtype").equals(dtype), "dtype", fields.text("dtype"), dtype);
        }
        sizes("shape", dense == null ? sparse.sizes() : dense.sizes());
        truth("requires_grad", dense == null ? sparse.requiresGrad() : dense.requiresGrad());
        if (dense != null) {
            sizes("strides", dense.strides());
            whole("offset", dense.storageOffset());
            whole(
                    "storage_elements",
                    dense.storage().sizeBytes() / dense.dtype().sizeBytes());
            truth("contiguous", dense.isContiguous());
        }
    }

    private void sparse(Value value) throws FormatException {
        if (!(value instanceof Value.OfSparse tensor)) {
            requireNone("a sparse tensor", "dense", "coalesced", "nnz");
            return;
        }
        SparseTensor sparse = tensor.value();
        truth("coalesced", sparse.isCoalesced());
        whole("nnz", sparse.elementCount());
        if (fields.has("dense")) {
            if (maker.value(fields.require("dense")) instanceof Value.OfTensor dense) {
                DenseSums.difference(dense.value(), sparse).ifPresent(wrong::add);
            } else {
                throw new FormatException("dense must be a tensor");
            }
        }
    }

    private void requireNone(String what, String... names) {
        for (String name : names) {
            if (fields.has(name)) {
                wrong.add("expected " + what + " with " + name + ", found none");
                return;
            }
        }
    }

    private void sizes(String name, long[] found) throws FormatException {
        if (fields.has(name)) {
            Value expected = maker.value(fields.require(name));
            demand(
                    expected.equals(Value.ints(found)),
                    name,
                    fields.require(name).toJson(),
                    Arrays.toString(found));
        }
    }

    private void whole(String name, long found) throws FormatException {
        long expected = fields.whole(name, found, 0, Long.MAX_VALUE);
        demand(expected == found, name, expected, found);
    }

    private void truth(String name, boolean found) throws FormatException {
        boolean expected = fields.truth(name, found);
        demand(expected == found, name, expected, found);
    }

    private void items(Value value) throws FormatException {
        List<Value> values = value instanceof Value.Items items
                ? items.values()
                : value instanceof Value.Tuple tuple ? tuple.values() : List.of();
        List<Datum> expected = fields.row("items");
        if (fields.has("items")) {
            demand(values.size() == expected.size(), "items", expected.size(), values.size());
            for (int i = 0; i < expected.size() && i < values.size(); i++) {
                String place = "item " + i + ": ";
                wrongWith(new Outcome.Answer(values.get(i)), Optional.of(expected.get(i)), maker)
                        .ifPresent(text -> wrong.add(place + text));
            }
        }
        for (Datum pair : fields.row("shares")) {
            share(values, pair);
        }
    }

    private void share(List<Value> values, Datum pair) throws FormatException {
        if (pair instanceof Datum.Row row
                && row.values().size() == 2
                && row.values().get(0) instanceof Datum.Whole one
                && row.values().get(1) instanceof Datum.Whole other
                && isTensor(values, one.value())
                && isTensor(values, other.value())) {
            Tensor first = ((Value.OfTensor) values.get((int) one.value())).value();
            Tensor second = ((Value.OfTensor) values.get((int) other.value())).value();
            demand(first.storage() == second.storage(), "one storage under items", pair.toJson(), "two");
        } else {
            throw new FormatException("shares has pairs of numbers of items that are tensors, not " + pair.toJson());
        }
    }

    private static boolean isTensor(List<Value> values, long index) {
        return index >= 0 && index < values.size() && values.get((int) index) instanceof Value.OfTensor;
    }
}
