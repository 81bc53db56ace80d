package io.waybill.script.source;

import java.util.Locale;

/**
 * What a function does outside of libtorch besides calling other workers: with references, with contexts of distributed autograd, with scopes of the profiler. Each is a
 * function that is added behind the text which uses it.
 */
public enum Intrinsic {
    IS_OWNER("rref: Any", "rref", "bool"),
    CONFIRMED_BY_OWNER("rref: Any", "rref", "bool"),
    /** The next fetch has this timeout. */
    TO_HERE_WITHIN("seconds: float", "seconds", "bool"),
    /** The next fetch is of a value that is here. */
    LOCAL_VALUE("", "", "bool"),
    /** A scope of the profiler begins, the innermost one ends. */
    RECORD_FUNCTION("name: str", "name", "bool"),
    RECORD_FUNCTION_EXIT("", "", "bool"),
    GET_GRADIENTS("context_id: int", "context_id", "Dict[Tensor, Tensor]"),
    BACKWARD(
            "context_id: int, roots: List[Tensor], retain_graph: bool = False",
            "context_id, roots, retain_graph",
            "Optional[bool]");

    private final String parameters;
    private final String arguments;
    private final String result;

    Intrinsic(String parameters, String arguments, String result) {
        this.parameters = parameters;
        this.arguments = arguments;
        this.result = result;
    }

    /** The name of the function that the text calls. */
    public String caller() {
        return RpcText.PREFIX + name().toLowerCase(Locale.ROOT);
    }

    /** The one that leaves libtorch. */
    public String bridge() {
        return RpcText.PREFIX + "bridge" + caller();
    }

    String functions() {
        return RpcText.helpers(caller(), bridge(), parameters, arguments, result);
    }

    /** Returns how many arguments it takes. */
    public int arity() {
        return arguments.isEmpty() ? 0 : arguments.split(",").length;
    }
}
