package io.waybill.cli.argument;

import io.waybill.api.Invocation;
import io.waybill.api.Value;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Turns a call's words into an {@link Invocation}. Not thread-safe. */
public final class CallArguments {

    /** Interpretation of a word that is not a value of the grammar. */
    public enum Bare {
        /** An error: operators take no free text, and a typing error should not become one. */
        REFUSED,
        /** Text: what most fields of operations by name are. */
        TEXT
    }

    private final TensorFiles files;
    private final Bare bare;
    private final List<Value> positional = new ArrayList<>();
    private final Map<String, Value> named = new LinkedHashMap<>();

    public CallArguments(TensorFiles files, Bare bare) {
        this.files = files;
        this.bare = bare;
    }

    /** Reads one argument: a value, or {@code name=value}. */
    public CallArguments add(String word) throws ArgumentException {
        int equals = nameEnd(word);
        if (equals < 0) {
            if (!named.isEmpty()) {
                throw new ArgumentException(
                        "'" + word + "' has no name and comes behind one that has: values without a name come first");
            }
            positional.add(value(word));
            return this;
        }
        String name = word.substring(0, equals);
        if (named.containsKey(name)) {
            throw new ArgumentException("the argument " + name + " comes twice");
        }
        named.put(name, value(word.substring(equals + 1)));
        return this;
    }

    /** The call with what was added. */
    public Invocation toInvocation(String operation) {
        return new Invocation(operation, positional, named);
    }

    private Value value(String text) throws ArgumentException {
        try {
            return ValueReader.read(text, files);
        } catch (ArgumentException e) {
            if (bare == Bare.TEXT && !text.endsWith(ValueReader.FILE_SUFFIX) && !text.startsWith("@")) {
                return Value.of(text);
            }
            throw e;
        }
    }

    /** Returns where the name of {@code name=value} ends; -1 when there is none. */
    private static int nameEnd(String word) {
        int equals = word.indexOf('=');
        if (equals < 1 || !Character.isJavaIdentifierStart(word.charAt(0))) {
            return -1;
        }
        return word.substring(0, equals).chars().allMatch(c -> Character.isJavaIdentifierPart(c) && c != '$')
                ? equals
                : -1;
    }
}
