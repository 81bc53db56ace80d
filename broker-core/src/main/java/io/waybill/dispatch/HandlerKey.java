package io.waybill.dispatch;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * One thing that can be handled: a request type, an operation of a call by name, a function that script calls name, or a control
 * operation of the broker itself.
 * Immutable.
 */
public sealed interface HandlerKey {

    /** What stands in front of the name of a control operation. */
    String CONTROL_PREFIX = "control:";

    /** What stands in front of the name of a function. */
    String FUNCTION_PREFIX = "function:";

    /** All requests of a type, except script calls to a function that has a handler of its own. */
    record OfType(MessageType type) implements HandlerKey {
        public OfType {
            if (!type.isRequest()) {
                throw new IllegalArgumentException("only requests are handled, and " + type + " is none");
            }
        }

        @Override
        public String text() {
            return type.name();
        }
    }

    /** Calls by name to one operation. */
    record OfOperation(String name) implements HandlerKey {
        public OfOperation {
            requireName(name);
        }

        @Override
        public String text() {
            return name;
        }
    }

    /** Script calls to one function. */
    record OfFunction(String name) implements HandlerKey {
        public OfFunction {
            requireName(name);
            if (isOperator(name)) {
                throw new IllegalArgumentException("an operator's name, and no function's: \"" + name + "\"");
            }
        }

        @Override
        public String text() {
            return FUNCTION_PREFIX + name;
        }
    }

    /** Control calls to one operation of the broker. */
    record OfControl(String name) implements HandlerKey {
        public OfControl {
            requireName(name);
        }

        @Override
        public String text() {
            return CONTROL_PREFIX + name;
        }
    }

    /** As {@link #parse} reads it. */
    String text();

    /** Whether a script call with this name is to a libtorch operator: it has a {@code ::}, or begins with {@code torch.ops.}. */
    static boolean isOperator(String name) {
        return name.contains("::") || name.startsWith("torch.ops.");
    }

    /**
     * Reads what a handler declares: {@code control:} or {@code function:} and a name, a name with a dot (an operation), a type's name, or a type's code
     * such as {@code 0x142}.
     *
     * @throws IllegalArgumentException when it is none of them
     */
    static HandlerKey parse(String text) {
        Objects.requireNonNull(text);
        if (text.startsWith(CONTROL_PREFIX)) {
            return new OfControl(text.substring(CONTROL_PREFIX.length()));
        }
        if (text.startsWith(FUNCTION_PREFIX)) {
            return new OfFunction(text.substring(FUNCTION_PREFIX.length()));
        }
        if (text.indexOf('.') >= 0) {
            return new OfOperation(text);
        }
        return new OfType(MessageType.named(text)
                .orElseThrow(
                        () -> new IllegalArgumentException("a handler takes an operation, a name with a dot such as"
                                + " text.count, or a request type, such as SCRIPT_CALL or 0x142: \"" + text + "\"")));
    }

    /** Whether something can be handled under a name that came in a message. */
    static boolean isName(String name) {
        return !name.isBlank() && name.getBytes(StandardCharsets.UTF_8).length <= Invocation.MAX_NAME_BYTES;
    }

    private static void requireName(String name) {
        int length = name.getBytes(StandardCharsets.UTF_8).length;
        if (!isName(name)) {
            throw new IllegalArgumentException("an operation's name has 1 to " + Invocation.MAX_NAME_BYTES
                    + " bytes and is not blank: " + length + " bytes");
        }
    }
}
