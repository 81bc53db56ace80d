package io.waybill.script.source;

import java.util.Locale;

/**
 * Intrinsics of functions outside of libtorch, besides calls of other workers: for references, contexts of distributed
 * autograd, and scopes of the profiler. Each is a function that is appended to the text which uses it.
 */
public enum Intrinsic {
    IS_OWNER("rref: Any", "rref", "bool"),
    CONFIRMED_BY_OWNER("rref: Any", "rref", "bool"),
    /** Sets the timeout of the next fetch. */
    TO_HERE_WITHIN("seconds: float", "seconds", "bool"),
    /** Restricts the next fetch to a local value. */
    LOCAL_VALUE("", "", "bool"),
    /** Begins a scope of the profiler, or ends the innermost one. */
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

    /** Returns the name of the function that the text calls. */
    public String caller() {
        return RpcText.PREFIX + name().toLowerCase(Locale.ROOT);
    }

    /** Returns the name of the function that leaves libtorch. */
    public String bridge() {
        return RpcText.PREFIX + "bridge" + caller();
    }

    String functions() {
        return RpcText.helpers(caller(), bridge(), parameters, arguments, result);
    }

    /** Returns the number of its arguments. */
    public int arity() {
        return arguments.isEmpty() ? 0 : arguments.split(",").length;
    }
}
