package io.waybill.script;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Operator's name in a call. Immutable.
 *
 * @param qualified name with its namespace, such as {@code aten::add}
 * @param overload such as {@code Tensor}; {@link #ANY_OVERLOAD} if the arguments determine the overload
 */
record OperatorName(String qualified, String overload) {

    /** Placeholder for any overload. */
    static final String ANY_OVERLOAD = "*";

    /** Description of the forms of operator names, for texts. */
    static final String FORMS = "an operator is named like aten::add, aten::add.Tensor or torch.ops.aten.add";

    private static final Pattern FORM =
            Pattern.compile("(?:torch\\.ops\\.(\\w+)\\.|(\\w+)::)([A-Za-z_]\\w*)(?:\\.(\\w+))?");

    /**
     * Parses {@code aten::add}, {@code aten::add.Tensor}, {@code torch.ops.aten.add} or
     * {@code torch.ops.aten.add.Tensor}. Python's {@code .default} is the overload without a name.
     *
     * @throws RejectedMessageException {@link ErrorCode#UNKNOWN_OPERATION} if the text has none of these forms
     */
    static OperatorName parse(String text) throws RejectedMessageException {
        Matcher parts = FORM.matcher(text);
        if (!parts.matches()) {
            throw new RejectedMessageException(ErrorCode.UNKNOWN_OPERATION, FORMS + ", not " + text);
        }
        String namespace = parts.group(1) == null ? parts.group(2) : parts.group(1);
        String overload = parts.group(4);
        if (overload == null) {
            overload = ANY_OVERLOAD;
        } else if (overload.equals("default")) {
            overload = "";
        }
        return new OperatorName(namespace + "::" + parts.group(3), overload);
    }

    /** Returns whether a name is that of an operator, and not of a function. */
    static boolean isOne(String text) {
        return text.contains("::") || text.startsWith("torch.ops.");
    }

    boolean isAnyOverload() {
        return overload.equals(ANY_OVERLOAD);
    }

    @Override
    public String toString() {
        return isAnyOverload() || overload.isEmpty() ? qualified : qualified + "." + overload;
    }
}
