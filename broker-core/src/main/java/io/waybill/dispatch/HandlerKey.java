package io.waybill.dispatch;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * One thing that can be handled: a request type, an operation of a call by name, or a control operation of the broker itself.
 * Immutable.
 */
public sealed interface HandlerKey {

    /** What stands in front of the name of a control operation. */
    String CONTROL_PREFIX = "control:";

    /** All requests of a type. */
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

    /**
     * Reads what a handler declares: {@code control:} and a name, a name with a dot (an operation), a type's name, or a type's code
     * such as {@code 0x142}.
     *
     * @throws IllegalArgumentException when it is none of them
     */
    static HandlerKey parse(String text) {
        Objects.requireNonNull(text);
        if (text.startsWith(CONTROL_PREFIX)) {
            return new OfControl(text.substring(CONTROL_PREFIX.length()));
        }
        if (text.indexOf('.') >= 0) {
            return new OfOperation(text);
        }
        return new OfType(MessageType.named(text)
                .orElseThrow(
                        () -> new IllegalArgumentException("a handler takes an operation, a name with a dot such as"
                                + " text.count, or a request type, such as SCRIPT_CALL or 0x142: \"" + text + "\"")));
    }

    private static void requireName(String name) {
        int length = name.getBytes(StandardCharsets.UTF_8).length;
        if (name.isBlank() || length > Invocation.MAX_NAME_BYTES) {
            throw new IllegalArgumentException("an operation's name has 1 to " + Invocation.MAX_NAME_BYTES
                    + " bytes and is not blank: " + length + " bytes");
        }
    }
}
