package io.waybill.script;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * Policy that decides which operators a call may run. An operator with effects beyond its result, on files, the network
 * or the process, or one that was not reviewed, is refused unless the configuration names it. Immutable.
 *
 * <p>The lists are those of libtorch 2.10. A test reads all schemas of the present libtorch and fails if a list lacks
 * one.
 */
final class OperatorPolicy {

    /** Name of the setting in texts. */
    static final String SETTING = "operators.allow in conf/" + ScriptEngine.class.getName() + ".cfg";

    /** Namespaces whose operators only compute, except those in {@link #BY_NAME}. */
    static final Set<String> COMPUTING = Set.of(
            "aten",
            "mkldnn",
            "mkldnn_prepacked",
            "onednn",
            "onnx",
            "prepacked",
            "quantization",
            "quantized",
            "_quantized",
            "sparse",
            "_test");

    private static final String NETWORK = "reaches the network";
    private static final String FILES = "opens, creates or changes files of the node";
    private static final String OBJECTS = "gives out objects of the process as bytes";
    private static final String OUTPUT = "writes to the node's output";

    /** Effects of all operators of namespaces. */
    private static final Map<String, String> BY_NAMESPACE = Map.of(
            "c10d",
            NETWORK,
            "_c10d_functional",
            NETWORK,
            "_c10d_functional_autograd",
            NETWORK,
            "_dtensor",
            NETWORK,
            "symm_mem",
            NETWORK + " and the memory of other processes",
            "profiler",
            OBJECTS + ", and changes the process's profiler",
            "inductor",
            "is an inner part of compiled programs and takes addresses unchecked",
            "static_runtime",
            "is an inner part of a runtime and takes addresses unchecked");

    /** Effects of single operators, in a namespace whose others only compute. */
    private static final Map<String, String> BY_NAME = Map.of(
            "aten::from_file", FILES,
            "aten::save", FILES,
            "aten::set_grad_enabled", "changes the worker's thread for the calls after it",
            "aten::warn", OUTPUT,
            "aten::_print", OUTPUT,
            "_quantized::linear_prepack_legacy", OBJECTS,
            "_quantized::linear_prepack_fp16_legacy", OBJECTS);

    /** Operators that use the generator of the process, and that libtorch does not tag so. */
    private static final Set<String> UNTAGGED_RANDOM =
            Set.of("aten::manual_seed", "aten::quantized_gru", "aten::quantized_lstm", "quantized::dropout");

    private static final Pattern NAME = Pattern.compile("\\w+::(\\w+|\\*)");

    private final Set<String> allowed;

    private OperatorPolicy(Set<String> allowed) {
        this.allowed = allowed;
    }

    /** Returns the default policy. */
    static OperatorPolicy standard() {
        return new OperatorPolicy(Set.of());
    }

    /**
     * Returns the policy with additional operators from the configuration.
     *
     * @param names such as {@code aten::from_file}, or {@code profiler::*} for all of a namespace, separated by commas;
     *     empty for none
     * @throws IllegalArgumentException if one has another form, or names an operator that is always allowed
     */
    static OperatorPolicy allowing(String names) {
        Set<String> allowed = new TreeSet<>();
        for (String name : names.split(",", -1)) {
            String text = name.strip();
            if (text.isEmpty()) {
                continue;
            }
            if (!NAME.matcher(text).matches()) {
                throw new IllegalArgumentException(
                        "operators are named in " + SETTING + " like aten::from_file or profiler::*, not " + text);
            }
            if (!text.endsWith("::*") && reach(text) == null
                    || COMPUTING.contains(namespace(text)) && text.endsWith("*")) {
                throw new IllegalArgumentException(
                        text + " needs not be named in " + SETTING + ": what is refused is " + refused());
            }
            allowed.add(text);
        }
        return new OperatorPolicy(allowed);
    }

    /**
     * Checks that a call may run an operator.
     *
     * @param qualified name with its namespace, without an overload
     * @throws RejectedMessageException {@link ErrorCode#REFUSED}, with the operator's effect and the setting that
     *     allows it
     */
    void check(String qualified) throws RejectedMessageException {
        String reach = reach(qualified);
        if (reach != null && !allowed.contains(qualified) && !allowed.contains(namespace(qualified) + "::*")) {
            throw new RejectedMessageException(
                    ErrorCode.REFUSED,
                    qualified + " is not run for calls: it " + reach + "; to allow it, name it in " + SETTING
                            + " of the node");
        }
    }

    /** Returns whether an operator uses the generator of the process without libtorch's tag. */
    static boolean isUntaggedRandom(String qualified) {
        return UNTAGGED_RANDOM.contains(qualified);
    }

    /** Returns the effects of an operator besides computing; null if there are none. */
    static String reach(String qualified) {
        String namespace = namespace(qualified);
        String ofNamespace = BY_NAMESPACE.get(namespace);
        if (ofNamespace != null) {
            return ofNamespace;
        }
        return COMPUTING.contains(namespace)
                ? BY_NAME.get(qualified)
                : "is of a library that is not libtorch's, and may do anything";
    }

    private static List<String> refused() {
        Map<String, String> all = new TreeMap<>(BY_NAME);
        BY_NAMESPACE.forEach((namespace, reach) -> all.put(namespace + "::*", reach));
        return new ArrayList<>(all.keySet());
    }

    private static String namespace(String qualified) {
        return qualified.substring(0, qualified.indexOf("::"));
    }
}
