package io.waybill.script;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.OperatorVector;
import org.bytedeco.pytorch.Symbol;
import org.bytedeco.pytorch.global.torch;

/**
 * Operators of this process's libtorch, by name. Thread-safe.
 *
 * <p>The names are read once, at construction; an operator's overloads when it is first called. Only names that
 * libtorch knows are cached or passed to it, so that unknown ones cost no memory.
 *
 * <p>Operators that only the interpreter can run are excluded: those that need a graph node, or a count of arguments on
 * the stack.
 */
final class Operators {

    /** Namespace of the interpreter's instructions. */
    private static final String INTERPRETER = "prim::";

    private static final int NEAREST_COUNT = 5;

    /** All names, with their numbers of overloads. */
    private final Map<String, Integer> overloadCounts;

    private final int rememberedMax;
    private volatile Permitted permitted; // written when the settings change, read by callers

    /** A policy, with the operators that it has allowed. */
    private record Permitted(OperatorPolicy policy, Map<String, Operator> byText) {
        Permitted(OperatorPolicy policy) {
            this(policy, new ConcurrentHashMap<>());
        }
    }

    Operators(OperatorPolicy policy) {
        permit(policy);
        this.overloadCounts = readNames();
        // Each operator under its two qualified forms, and each overload under its two.
        this.rememberedMax = 2 * overloadCounts.size()
                + 2
                        * overloadCounts.values().stream()
                                .mapToInt(Integer::intValue)
                                .sum();
    }

    /**
     * Returns the operator that a call names.
     *
     * @throws RejectedMessageException {@link ErrorCode#UNKNOWN_OPERATION} if there is none, with the nearest names;
     *     {@link ErrorCode#REFUSED} if calls may not run it
     */
    Operator find(String text) throws RejectedMessageException {
        Permitted now = permitted;
        Operator known = now.byText().get(text);
        if (known != null) {
            return known;
        }
        Operator found = read(OperatorName.parse(text), now.policy());
        if (now.byText().size() < rememberedMax) {
            now.byText().put(text, found);
        }
        return found;
    }

    /** Sets another policy for further calls. */
    final void permit(OperatorPolicy other) {
        permitted = new Permitted(other);
    }

    /** Returns the number of names. */
    int size() {
        return overloadCounts.size();
    }

    /** Returns the number of names that are cached with their overloads. */
    int rememberedCount() {
        return permitted.byText().size();
    }

    @SuppressWarnings("try")
    private static Map<String, Integer> readNames() {
        Map<String, Integer> counts = new HashMap<>(4096);
        try (PointerScope scope = new PointerScope()) {
            OperatorVector all = torch.getAllOperators();
            for (long i = 0; i < all.size(); i++) {
                String name = all.get(i).schema().name().getString();
                if (!name.startsWith(INTERPRETER)) {
                    counts.merge(name, 1, Integer::sum);
                }
            }
        }
        return counts;
    }

    @SuppressWarnings("try")
    private Operator read(OperatorName name, OperatorPolicy policy) throws RejectedMessageException {
        if (!overloadCounts.containsKey(name.qualified())) {
            throw unknown(name);
        }
        policy.check(name.qualified());
        List<Overload> ofDispatcher = new ArrayList<>();
        List<Overload> ofInterpreter = new ArrayList<>();
        try (PointerScope scope = new PointerScope()) {
            OperatorVector found = torch.getAllOperatorsFor(Symbol.fromQualString(name.qualified()));
            for (long i = 0; i < found.size(); i++) {
                org.bytedeco.pytorch.Operator operator = found.get(i);
                if (operator.schema().is_vararg()) {
                    continue; // it has a variable number of arguments, which only the interpreter knows
                } else if (operator.isC10Op()) {
                    ofDispatcher.add(Overload.of(operator));
                } else if (operator.hasOperation()) {
                    ofInterpreter.add(Overload.of(operator));
                }
            }
        }
        List<Overload> overloads = new ArrayList<>(ofDispatcher);
        overloads.addAll(ofInterpreter);
        return new Operator(
                name,
                selected(
                        name,
                        overloads.stream()
                                .map(overload -> overload.withTwin(overloads))
                                .toList()));
    }

    private static List<Overload> selected(OperatorName name, List<Overload> overloads)
            throws RejectedMessageException {
        List<Overload> selected = overloads.stream()
                .filter(overload -> name.isAnyOverload() || overload.name().equals(name.overload()))
                .toList();
        if (selected.isEmpty() && overloads.isEmpty()) {
            throw new RejectedMessageException(
                    ErrorCode.UNKNOWN_OPERATION,
                    name.qualified() + " exists inside TorchScript only and can't be called by a message");
        }
        if (selected.isEmpty()) {
            List<String> names = overloads.stream()
                    .map(overload -> overload.name().isEmpty() ? "default" : overload.name())
                    .distinct()
                    .toList();
            throw new RejectedMessageException(
                    ErrorCode.UNKNOWN_OPERATION,
                    name.qualified() + " has no overload " + (name.overload().isEmpty() ? "default" : name.overload())
                            + "; it has " + String.join(", ", names));
        }
        return selected;
    }

    private RejectedMessageException unknown(OperatorName name) {
        Map<Integer, List<String>> byDistance = new TreeMap<>();
        int worst = Math.max(2, name.qualified().length() / 3);
        for (String candidate : overloadCounts.keySet()) {
            int distance = EditDistance.between(name.qualified(), candidate, worst);
            if (distance <= worst) {
                byDistance.computeIfAbsent(distance, key -> new ArrayList<>()).add(candidate);
            }
        }
        List<String> nearest = byDistance.values().stream()
                .flatMap(names -> names.stream().sorted())
                .limit(NEAREST_COUNT)
                .toList();
        return new RejectedMessageException(
                ErrorCode.UNKNOWN_OPERATION,
                "libtorch has no operator " + name.qualified()
                        + (nearest.isEmpty() ? "" : "; the nearest names are " + String.join(", ", nearest)));
    }
}
