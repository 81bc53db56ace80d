package io.waybill.conformance.worker;

import com.fasterxml.jackson.databind.JsonNode;
import io.waybill.api.Value;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import io.waybill.conformance.cases.CaseFormatException;
import io.waybill.conformance.cases.CaseJson;
import io.waybill.conformance.cases.Expected;
import io.waybill.conformance.cases.Expected.ExpectedError;
import io.waybill.conformance.cases.Expected.Margin;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/** Checks one outcome against what is expected, and collects all that is wrong. For one use, by one thread. */
final class Expectation {

    private static final Set<String> SPARSE_ONLY = Set.of("dense", "coalesced", "nnz");
    private static final Pattern NODE = Pattern.compile("Error on Node ([0-9]{1,5}): ");
    private static final int MAX_PATTERN = 1_000;

    private final ValueMaker maker;
    private final List<String> wrong = new ArrayList<>();

    private Expectation(ValueMaker maker) {
        this.maker = maker;
    }

    /**
     * Returns what is wrong with an outcome; empty when it is as expected.
     *
     * @param expected null for anything but an error
     */
    static Optional<String> check(Expected expected, StepOutcome outcome, ValueMaker maker) {
        Expectation expectation = new Expectation(maker);
        if (outcome instanceof StepOutcome.Failure failure) {
            expectation.failure(expected == null ? null : expected.error(), failure);
        } else if (expected != null) {
            expectation.value(expected, ((StepOutcome.Result) outcome).value());
        }
        return expectation.wrong.isEmpty() ? Optional.empty() : Optional.of(String.join("; ", expectation.wrong));
    }

    private void demand(String what, Object expected, Object found) {
        if (expected != null && !expected.equals(found)) {
            wrong.add("expected " + what + " " + expected + ", found " + found);
        }
    }

    private void failure(ExpectedError expected, StepOutcome.Failure found) {
        if (expected == null) {
            wrong.add("expected no error, found " + found);
            return;
        }
        same("kind", expected.kind(), found.kind());
        same("code", expected.code(), found.code());
        same("type", expected.type(), found.type());
        nodes(expected.node(), found);
        same("text", expected.text(), found.text());
        if (expected.contains() != null && !found.text().contains(expected.contains())) {
            wrong.add("expected an error with '" + expected.contains() + "', found " + found);
        }
        if (expected.matches() != null
                && !pattern(expected.matches()).matcher(found.text()).find()) {
            wrong.add("expected an error that matches '" + expected.matches() + "', found " + found);
        }
    }

    private void same(String name, String expected, String found) {
        if (expected != null && !expected.equals(found)) {
            wrong.add("expected an error of the " + name + " '" + expected + "', found '" + found + "'");
        }
    }

    /** Returns the nodes in the prefixes of a text, outermost first. */
    private void nodes(JsonNode expected, StepOutcome.Failure found) {
        List<String> ids = new ArrayList<>();
        for (JsonNode id : expected == null ? List.<JsonNode>of() : CaseJson.oneOrMany(expected)) {
            ids.add(id.asText());
        }
        List<String> named = new ArrayList<>();
        Matcher prefix = NODE.matcher(found.text());
        while (prefix.lookingAt()) {
            named.add(prefix.group(1));
            prefix.region(prefix.end(), found.text().length());
        }
        if (!ids.equals(named)) {
            wrong.add("expected an error that names the nodes " + ids + " in front, found " + found);
        }
    }

    private static Pattern pattern(String text) {
        if (text.length() > MAX_PATTERN) {
            throw new CaseFormatException("a pattern has at most " + MAX_PATTERN + " characters, not " + text.length());
        }
        try {
            return Pattern.compile(text, Pattern.DOTALL);
        } catch (PatternSyntaxException e) {
            throw new CaseFormatException("'" + text + "' is no pattern: " + e.getDescription(), e);
        }
    }

    private void value(Expected expected, Value found) {
        if (expected.error() != null) {
            wrong.add("expected an error, found " + ValueDiff.shown(found));
            return;
        }
        demand("type", expected.type(), type(found));
        if (expected.value() != null) {
            Margin margin = expected.tolerance() == null ? Margin.EXACT : expected.tolerance();
            ValueDiff.difference(maker.value(expected.value()), found, margin).ifPresent(wrong::add);
        }
        counters(expected.counters(), found);
        tensor(expected, found);
        items(expected, found);
    }

    private static String type(Value value) {
        String name = value.getClass().getSimpleName().toLowerCase(Locale.ROOT);
        return name.startsWith("of") ? name.substring(2) : name.equals("items") ? "list" : name;
    }

    private void counters(Map<String, JsonNode> expected, Value found) {
        expected.forEach((name, count) -> {
            Map<Value, Value> counted = ((Value.Dict) found).entries();
            Value actual = counted.get(Value.of(name));
            if (actual == null) {
                throw new CaseFormatException("no counter is called " + name + ", expected one of " + counted.keySet());
            }
            if (!maker.value(count).equals(actual)) {
                wrong.add("expected " + name + " " + count + ", found " + ValueDiff.shown(actual));
            }
        });
    }

    /** Demands on tensors. */
    private void tensor(Expected expected, Value found) {
        Map<String, Object> facts = facts(found);
        fact("dtype", expected.dtype() == null ? null : expected.dtype().torchName(), facts);
        fact("shape", sizes(expected.shape()), facts);
        fact("requires_grad", expected.requiresGrad(), facts);
        fact("strides", sizes(expected.strides()), facts);
        fact("offset", expected.offset(), facts);
        fact("storage_elements", expected.storageElements(), facts);
        fact("contiguous", expected.contiguous(), facts);
        fact("coalesced", expected.coalesced(), facts);
        fact("nnz", expected.nnz(), facts);
        if (expected.dense() == null) {
            return;
        } else if (found instanceof Value.OfSparse sparse
                && maker.value(expected.dense()) instanceof Value.OfTensor dense) {
            ValueDiff.denseDifference(dense.value(), sparse.value()).ifPresent(wrong::add);
        } else {
            fact("dense", expected.dense(), Map.of());
        }
    }

    private static Map<String, Object> facts(Value value) {
        Map<String, Object> facts = new LinkedHashMap<>();
        if (value instanceof Value.OfTensor of) {
            Tensor tensor = of.value();
            facts.put("dtype", tensor.dtype().torchName());
            facts.put("shape", list(tensor.sizes()));
            facts.put("requires_grad", tensor.requiresGrad());
            facts.put("strides", list(tensor.strides()));
            facts.put("offset", tensor.storageOffset());
            facts.put(
                    "storage_elements",
                    tensor.storage().sizeBytes() / tensor.dtype().sizeBytes());
            facts.put("contiguous", tensor.isContiguous());
        } else if (value instanceof Value.OfSparse of) {
            SparseTensor tensor = of.value();
            facts.put("dtype", tensor.dtype().torchName());
            facts.put("shape", list(tensor.sizes()));
            facts.put("requires_grad", tensor.requiresGrad());
            facts.put("coalesced", tensor.isCoalesced());
            facts.put("nnz", tensor.elementCount());
        }
        return facts;
    }

    private void fact(String name, Object expected, Map<String, Object> facts) {
        if (expected != null && !facts.containsKey(name)) {
            String kind = SPARSE_ONLY.contains(name) ? "a sparse tensor" : "a tensor";
            wrong.add("expected " + kind + " with " + name + ", found none");
        } else {
            demand(name, expected, facts.get(name));
        }
    }

    private List<Long> sizes(JsonNode json) {
        return json == null ? null : list(maker.sizes(json));
    }

    private static List<Long> list(long[] sizes) {
        return Arrays.stream(sizes).boxed().toList();
    }

    private void items(Expected expected, Value found) {
        List<Value> values = found instanceof Value.Items items
                ? items.values()
                : found instanceof Value.Tuple tuple ? tuple.values() : List.of();
        if (expected.items() != null) {
            demand("items", expected.items().length, values.size());
            for (int i = 0; i < expected.items().length && i < values.size(); i++) {
                String position = "item " + i + ": ";
                check(expected.items()[i], new StepOutcome.Result(values.get(i)), maker)
                        .ifPresent(text -> wrong.add(position + text));
            }
        }
        for (int[] pair : expected.shares()) {
            List<Tensor> tensors = Arrays.stream(pair)
                    .filter(i -> i >= 0 && i < values.size())
                    .mapToObj(values::get)
                    .filter(Value.OfTensor.class::isInstance)
                    .map(value -> ((Value.OfTensor) value).value())
                    .toList();
            if (tensors.size() != 2) {
                throw new CaseFormatException(
                        "shares has pairs of numbers of items that are tensors, not " + Arrays.toString(pair));
            }
            if (tensors.get(0).storage() != tensors.get(1).storage()) {
                wrong.add("expected one storage under items " + Arrays.toString(pair) + ", found two");
            }
        }
    }
}
