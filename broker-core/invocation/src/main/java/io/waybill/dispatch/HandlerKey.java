package io.waybill.dispatch;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Key of a handler: a request type, an operation of a call by name, a function in script calls, a control operation of
 * the broker itself; or a pattern for several types or operations.
 *
 * <p>The most specific key with a handler gets a request: the operation before its longest prefix, that before shorter
 * ones, and {@code *} last; the type before {@code type:*}. Immutable. Equality of keys is written out: every program
 * that joins needs it, and the JVM would generate code for each kind.
 */
public sealed interface HandlerKey {

    /** Prefix of the name of a control operation. */
    String CONTROL_PREFIX = "control:";

    /** Prefix of the name of a function. */
    String FUNCTION_PREFIX = "function:";

    /** Pattern for the operations that no more specific key takes, and the last letter of a pattern for a prefix. */
    String ANY_OPERATION = "*";

    /** Pattern for the request types that no other key takes. */
    String ANY_TYPE = "type:*";

    /** Key for all requests of a type, except script calls to a function that has a handler of its own. */
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

        @Override
        public boolean equals(Object other) {
            return other instanceof OfType that && type.equals(that.type);
        }

        @Override
        public int hashCode() {
            return type.hashCode();
        }
    }

    /** Key for calls by name to one operation. */
    record OfOperation(String name) implements HandlerKey {
        public OfOperation {
            requireName(name);
        }

        @Override
        public String text() {
            return name;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof OfOperation that && name.equals(that.name);
        }

        @Override
        public int hashCode() {
            return name.hashCode();
        }
    }

    /**
     * Pattern for calls by name to every operation that begins with a prefix, such as {@code py.}, and that no more
     * specific key takes.
     *
     * @param prefix ends with a dot
     */
    record OfOperationPrefix(String prefix) implements HandlerKey {
        public OfOperationPrefix {
            requireName(prefix);
            if (prefix.length() < 2 || !prefix.endsWith(".") || prefix.contains(ANY_OPERATION)) {
                throw notAPattern(prefix + ANY_OPERATION);
            }
        }

        @Override
        public String text() {
            return prefix + ANY_OPERATION;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof OfOperationPrefix that && prefix.equals(that.prefix);
        }

        @Override
        public int hashCode() {
            return prefix.hashCode();
        }
    }

    /** Pattern for calls by name to every operation that no more specific key takes. */
    record OfAnyOperation() implements HandlerKey {
        @Override
        public String text() {
            return ANY_OPERATION;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof OfAnyOperation;
        }

        @Override
        public int hashCode() {
            return text().hashCode();
        }
    }

    /**
     * Pattern for requests of every type that no other key takes, except calls by name, and messages of the broker
     * itself.
     */
    record OfAnyType() implements HandlerKey {

        /** Returns whether the pattern takes requests of this type. */
        static boolean covers(int typeCode) {
            return typeCode >= MessageType.REQUEST_FLAG
                    && typeCode <= (MessageType.LAST_USER_KIND | MessageType.REQUEST_FLAG)
                    && typeCode != MessageType.NAMED_CALL.code();
        }

        @Override
        public String text() {
            return ANY_TYPE;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof OfAnyType;
        }

        @Override
        public int hashCode() {
            return text().hashCode();
        }
    }

    /** Key for script calls to one function. */
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

        @Override
        public boolean equals(Object other) {
            return other instanceof OfFunction that && name.equals(that.name);
        }

        @Override
        public int hashCode() {
            return name.hashCode();
        }
    }

    /** Key for control calls to one operation of the broker. */
    record OfControl(String name) implements HandlerKey {
        public OfControl {
            requireName(name);
        }

        @Override
        public String text() {
            return CONTROL_PREFIX + name;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof OfControl that && name.equals(that.name);
        }

        @Override
        public int hashCode() {
            return name.hashCode();
        }
    }

    /** Returns the text that {@link #parse} reads. */
    String text();

    /**
     * Returns whether a script call with this name is to a libtorch operator: it has a {@code ::}, or begins with
     * {@code torch.ops.}.
     */
    static boolean isOperator(String name) {
        return name.contains("::") || name.startsWith("torch.ops.");
    }

    /** Returns the patterns that match this key, the most specific first. */
    static List<HandlerKey> patternsFor(HandlerKey key) {
        List<HandlerKey> patterns = new ArrayList<>();
        if (key instanceof OfOperation operation) {
            String name = operation.name();
            for (int dot = name.lastIndexOf('.'); dot > 0; dot = name.lastIndexOf('.', dot - 1)) {
                String prefix = name.substring(0, dot + 1);
                if (!prefix.contains(ANY_OPERATION)) {
                    patterns.add(new OfOperationPrefix(prefix));
                }
            }
            patterns.add(new OfAnyOperation());
        } else if (key instanceof OfType ofType
                && OfAnyType.covers(ofType.type().code())) {
            patterns.add(new OfAnyType());
        }
        return patterns;
    }

    /**
     * Parses the key that a handler declares: {@code control:} or {@code function:} and a name, a name with a dot (an
     * operation), such a name with {@code *} behind its last dot (all operations with that prefix), {@code *} (all
     * operations), a type's name, a type's code such as {@code 0x142}, or {@code type:*} (all types).
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
        if (text.equals(ANY_OPERATION)) {
            return new OfAnyOperation();
        }
        if (text.equals(ANY_TYPE)) {
            return new OfAnyType();
        }
        if (text.contains(ANY_OPERATION)) {
            if (!text.endsWith("." + ANY_OPERATION)) {
                throw notAPattern(text);
            }
            return new OfOperationPrefix(text.substring(0, text.length() - ANY_OPERATION.length()));
        }
        if (text.indexOf('.') >= 0) {
            return new OfOperation(text);
        }
        return new OfType(MessageType.named(text)
                .orElseThrow(
                        () -> new IllegalArgumentException("a handler takes an operation, a name with a dot such as"
                                + " text.count, or a request type, such as SCRIPT_CALL or 0x142: \"" + text + "\"")));
    }

    /**
     * Checks that requests reach a handler that declares this key.
     *
     * @throws IllegalArgumentException when it is a type that the worker itself serves, or hands on to other keys
     */
    static void requireReachable(HandlerKey key) {
        if (key instanceof OfType of && isOfWorker(of.type())) {
            throw new IllegalArgumentException(
                    of.text() + " is the worker's own: a handler takes an operation, a type of"
                            + " calls such as SCRIPT_CALL, or a type from 0x142 to 0x1ef");
        }
    }

    private static boolean isOfWorker(MessageType type) {
        int code = type.code();
        return code > (MessageType.LAST_USER_KIND | MessageType.REQUEST_FLAG)
                || code >= MessageType.RREF_USER_DELETE.code() && code <= MessageType.RREF_CHILD_ACCEPT.code()
                || type == MessageType.SCRIPT_RREF_FETCH_CALL
                || type == MessageType.NAMED_CALL
                || type.isCreating();
    }

    /** Returns whether a name from a message can be a key. */
    static boolean isName(String name) {
        return !name.isBlank() && name.getBytes(StandardCharsets.UTF_8).length <= Invocation.MAX_NAME_BYTES;
    }

    private static IllegalArgumentException notAPattern(String text) {
        return new IllegalArgumentException("a pattern is * for all operations, a prefix with a dot and * such as py.*,"
                + " or type:* for all types: \"" + text + "\"");
    }

    private static void requireName(String name) {
        int length = name.getBytes(StandardCharsets.UTF_8).length;
        if (!isName(name)) {
            throw new IllegalArgumentException("an operation's name has 1 to " + Invocation.MAX_NAME_BYTES
                    + " bytes and is not blank: " + length + " bytes");
        }
    }
}
