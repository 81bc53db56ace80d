package io.waybill.cli.argument;

import io.waybill.api.Invocation;
import io.waybill.api.Value;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Converts a call's words to an {@link Invocation}. Not thread-safe.
 *
 * <pre>
 * name=text       the text as it stands, whatever it looks like
 * name:=value     a value, see {@link ValueReader}
 * name=@file      a tensor
 * value           without a name; before those that have one
 * </pre>
 */
public final class CallArguments {

    /** Separator between a name and a text. */
    public static final char TEXT_MARK = '=';

    /** Separator between a name and a value. */
    public static final String VALUE_MARK = ":=";

    private static final char FILE_MARK = '@';

    private final TensorFiles files;
    private final List<Value> positional = new ArrayList<>();
    private final Map<String, Value> named = new LinkedHashMap<>();

    public CallArguments(TensorFiles files) {
        this.files = files;
    }

    /** Parses one argument. */
    public CallArguments add(String word) throws ArgumentException {
        int end = nameEnd(word);
        if (end < 0) {
            addPositional(word);
            return this;
        }
        String name = word.substring(0, end);
        if (named.containsKey(name)) {
            throw new ArgumentException("the argument " + name + " comes twice");
        }
        named.put(name, value(word, end));
        return this;
    }

    /** Creates the call from the added arguments. */
    public Invocation toInvocation(String operation) {
        return new Invocation(operation, positional, named);
    }

    /**
     * Returns a corrected word that gives a value, for a {@code name=text} whose text has the form of a value; empty
     * for other words.
     */
    public static Optional<String> valueInText(String word) {
        int end = nameEnd(word);
        if (end < 0 || word.charAt(end) != TEXT_MARK) {
            return Optional.empty();
        }
        if (word.endsWith(ValueReader.FILE_SUFFIX)) {
            return Optional.of(word.substring(0, end + 1) + FILE_MARK + word.substring(end + 1));
        }
        try {
            ValueReader.read(word.substring(end + 1), file -> {
                throw new ArgumentException(file);
            });
        } catch (ArgumentException e) {
            return Optional.empty();
        }
        return Optional.of(word.substring(0, end) + VALUE_MARK + word.substring(end + 1));
    }

    private void addPositional(String word) throws ArgumentException {
        if (!named.isEmpty()) {
            throw new ArgumentException(
                    "'" + word + "' has no name and comes behind one that has: values without a name come first");
        }
        positional.add(ValueReader.read(word, files));
    }

    private Value value(String word, int end) throws ArgumentException {
        if (word.startsWith(VALUE_MARK, end)) {
            return ValueReader.read(word.substring(end + VALUE_MARK.length()), files);
        }
        String text = word.substring(end + 1);
        return !text.isEmpty() && text.charAt(0) == FILE_MARK ? ValueReader.read(text, files) : Value.of(text);
    }

    /** Returns the end of the name in {@code name=text} or {@code name:=value}; -1 if there is none. */
    private static int nameEnd(String word) {
        int end = 0;
        while (end < word.length() && isInName(word.charAt(end), end)) {
            end++;
        }
        boolean isMarked = end < word.length() && (word.charAt(end) == TEXT_MARK || word.startsWith(VALUE_MARK, end));
        return end > 0 && isMarked ? end : -1;
    }

    private static boolean isInName(char c, int at) {
        return c != '$' && (at == 0 ? Character.isJavaIdentifierStart(c) : Character.isJavaIdentifierPart(c));
    }
}
