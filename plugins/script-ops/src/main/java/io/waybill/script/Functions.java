package io.waybill.script;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The functions of all scripts, by name. Of several with the same name the broker calls that of the script with the
 * highest ranking, then the oldest. Thread-safe.
 */
final class Functions {

    private static final int NEAREST_COUNT = 5;

    /** Guarded by itself. The first function of a list is called. */
    private final Map<String, List<ScriptFunction>> byName = new TreeMap<>();

    private final Map<Object, Map<String, String>> refused = new ConcurrentHashMap<>();

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

    /**
     * Records why functions are not served, for the errors of calls to them.
     *
     * @param owner owner of the functions, until {@link #forget}
     * @param refusals by the function's name; by the module's name and a dot for all of its functions
     */
    void refuse(Object owner, Map<String, String> refusals) {
        refused.put(owner, Map.copyOf(refusals));
    }

    /** Removes the refusals of an owner. */
    void forget(Object owner) {
        refused.remove(owner);
    }

    private Optional<String> refusal(String name) {
        String module = name.substring(0, name.indexOf('.') + 1);
        return refused.values().stream()
                .map(refusals -> refusals.getOrDefault(name, refusals.get(module)))
                .filter(Objects::nonNull)
                .findFirst();
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
     * Returns the function with a name.
     *
     * @throws RejectedMessageException {@link ErrorCode#UNKNOWN_OPERATION} if there is none, with the nearest names
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

    /** Returns the refusal of a call to a missing function. */
    RejectedMessageException unknown(String name) {
        Optional<String> refusal = refusal(name);
        if (refusal.isPresent()) {
            return new RejectedMessageException(
                    ErrorCode.UNKNOWN_OPERATION, "the function " + name + " is not served: " + refusal.get());
        }
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
