package io.waybill.script;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The functions of all scripts, by name. Of several with the same name the broker calls that of the script with the
 * highest ranking, then the oldest. Thread-safe.
 */
final class Functions {

    private static final int NEAREST_COUNT = 5;

    /** Guarded by itself. The first of a list is found. */
    private final Map<String, List<ScriptFunction>> byName = new TreeMap<>();

    void add(CompiledScript script) {
        synchronized (byName) {
            for (ScriptFunction function : script.functions()) {
                List<ScriptFunction> ofName = byName.computeIfAbsent(function.name(), name -> new ArrayList<>());
                ofName.add(function);
                // stable, so that of equal rankings the older stays in front
                ofName.sort(
                        Comparator.comparingInt((ScriptFunction f) -> f.script().ranking())
                                .reversed());
            }
        }
    }

    void remove(CompiledScript script) {
        synchronized (byName) {
            for (ScriptFunction function : script.functions()) {
                byName.computeIfPresent(function.name(), (name, ofName) -> {
                    ofName.remove(function);
                    return ofName.isEmpty() ? null : ofName;
                });
            }
        }
    }

    /**
     * The function of a name.
     *
     * @throws RejectedMessageException {@link ErrorCode#UNKNOWN_OPERATION} when there is none, with the nearest names
     */
    ScriptFunction find(String name) throws RejectedMessageException {
        synchronized (byName) {
            List<ScriptFunction> ofName = byName.get(name);
            if (ofName != null) {
                return ofName.get(0);
            }
        }
        throw unknown(name);
    }

    /** The refusal of a call to a function that there is not. */
    RejectedMessageException unknown(String name) {
        int worst = Math.max(2, name.length() / 3);
        List<String> nearest;
        synchronized (byName) {
            nearest = byName.keySet().stream()
                    .filter(candidate -> EditDistance.between(name, candidate, worst) <= worst)
                    .sorted(Comparator.comparingInt(candidate -> EditDistance.between(name, candidate, worst)))
                    .limit(NEAREST_COUNT)
                    .toList();
        }
        return new RejectedMessageException(
                ErrorCode.UNKNOWN_OPERATION,
                "no script here has a function " + name
                        + (nearest.isEmpty() ? "" : "; the nearest names are " + String.join(", ", nearest)) + "; "
                        + OperatorName.FORMS);
    }
}
