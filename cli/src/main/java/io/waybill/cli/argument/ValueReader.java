package io.waybill.cli.argument;

import io.waybill.api.Value;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Parser of one value in the syntax of the command line.
 *
 * <pre>
 * value   = none | true | false                also None, True, False, null
 *         | number                             1  -2  0x1f  2.5  1e-3  inf  nan  2j  1+2j
 *         | 'text' | "text"                    with \' \" \\ \/ \b \f \n \r \t \u0041
 *         | "[" value , … "]"                  list
 *         | "(" value , … ")"                  tuple
 *         | "{" key : value , … "}"            dict; a key is a value or a bare name
 *         | dtype                              float32, int64, bool, torch.float32, double, long …
 *         | device                             cpu, cuda, cuda:1
 *         | file.npy                           tensor
 *         | @file | @'file' | @"file"          tensor, whatever the file's name
 * </pre>
 *
 * All JSON is valid. A word that ends in {@code .npy} and does not begin with one of {@code ' " [ ( { @} is a file name
 * as a whole.
 */
public final class ValueReader {

    /** Suffix of a tensor's file. */
    public static final String FILE_SUFFIX = ".npy";

    private static final int MAX_NESTING = 32;
    private static final int UTF16_DIGITS = 4;
    private static final String ENDS_WORD = ",]){}:";

    private final String text;
    private final TensorFiles files;
    private int at;

    private ValueReader(String text, TensorFiles files) {
        this.text = text;
        this.files = files;
    }

    /**
     * Parses a whole word.
     *
     * @throws ArgumentException if it is not a value, with the position
     */
    public static Value read(String text, TensorFiles files) throws ArgumentException {
        if (text.endsWith(FILE_SUFFIX) && "'\"[({@".indexOf(text.charAt(0)) < 0) {
            return Value.of(files.read(text));
        }
        ValueReader reader = new ValueReader(text, files);
        Value value = reader.value(0);
        reader.skipBlanks();
        if (reader.at < text.length()) {
            throw reader.unexpected("the end");
        }
        return value;
    }

    private Value value(int depth) throws ArgumentException {
        if (depth > MAX_NESTING) {
            throw new ArgumentException("values nest at most " + MAX_NESTING + " deep: " + shown());
        }
        skipBlanks();
        if (at == text.length()) {
            throw unexpected("a value");
        }
        switch (text.charAt(at)) {
            case '[':
                return new Value.Items(elements(']', depth));
            case '(':
                return new Value.Tuple(elements(')', depth));
            case '{':
                return dict(depth);
            case '\'':
            case '"':
                return Value.of(quoted());
            case '@':
                at++;
                boolean isQuoted = at < text.length() && (text.charAt(at) == '\'' || text.charAt(at) == '"');
                return Value.of(files.read(isQuoted ? quoted() : word(depth)));
            default:
                return bare(depth);
        }
    }

    private List<Value> elements(char close, int depth) throws ArgumentException {
        List<Value> values = new ArrayList<>();
        at++;
        while (!skipped(close)) {
            values.add(value(depth + 1));
            separator(close);
        }
        return values;
    }

    private Value dict(int depth) throws ArgumentException {
        Map<Value, Value> entries = new LinkedHashMap<>();
        at++;
        while (!skipped('}')) {
            int keyAt = at;
            Value key = key(depth);
            if (!skipped(':')) {
                throw unexpected("':' behind a dict's key");
            }
            if (entries.put(key, value(depth + 1)) != null) {
                at = keyAt;
                throw unexpected("every key once");
            }
            separator('}');
        }
        return new Value.Dict(entries);
    }

    private Value key(int depth) throws ArgumentException {
        skipBlanks();
        int start = at;
        while (at < text.length() && (Character.isLetterOrDigit(text.charAt(at)) || text.charAt(at) == '_')) {
            at++;
        }
        String name = text.substring(start, at);
        boolean isName = !name.isEmpty() && !Character.isDigit(name.charAt(0)) && !Constants.isReserved(name);
        if (isName) {
            return Value.of(name);
        }
        at = start;
        return value(depth + 1);
    }

    /** Parses a comma, unless the collection ends here. */
    private void separator(char close) throws ArgumentException {
        skipBlanks();
        if (at < text.length() && text.charAt(at) == ',') {
            at++;
        } else if (at == text.length() || text.charAt(at) != close) {
            throw unexpected("',' or '" + close + "'");
        }
    }

    /** Skips this character if it is the next one, and returns whether it was. */
    private boolean skipped(char wanted) {
        skipBlanks();
        if (at < text.length() && text.charAt(at) == wanted) {
            at++;
            return true;
        }
        return false;
    }

    private String quoted() throws ArgumentException {
        char quote = text.charAt(at);
        int start = at++;
        StringBuilder content = new StringBuilder();
        while (at < text.length() && text.charAt(at) != quote) {
            char c = text.charAt(at++);
            content.append(c == '\\' ? escaped() : c);
        }
        if (at == text.length()) {
            at = start;
            throw unexpected("a closing " + quote);
        }
        at++;
        return content.toString();
    }

    private char escaped() throws ArgumentException {
        char c = at < text.length() ? text.charAt(at) : 0;
        at++;
        switch (c) {
            case 'n':
                return '\n';
            case 't':
                return '\t';
            case 'r':
                return '\r';
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'u':
                return utf16();
            case '\\':
            case '/':
            case '\'':
            case '"':
                return c;
            default:
                at--;
                throw unexpected("one of \\n \\t \\r \\b \\f \\u \\\\ \\/ \\' \\\"");
        }
    }

    /** Parses the four hexadecimal digits after {@code \\u}. */
    private char utf16() throws ArgumentException {
        int end = at + UTF16_DIGITS;
        if (end > text.length() || !text.substring(at, end).chars().allMatch(c -> Character.digit(c, 16) >= 0)) {
            throw unexpected("four hexadecimal digits");
        }
        char c = (char) Integer.parseInt(text.substring(at, end), 16);
        at = end;
        return c;
    }

    private Value bare(int depth) throws ArgumentException {
        int start = at;
        String word = word(depth);
        if (word.endsWith(FILE_SUFFIX)) {
            return Value.of(files.read(word));
        }
        Value value = Constants.value(word);
        if (value == null) {
            value = Numbers.value(word);
        }
        if (value == null) {
            at = start;
            throw unexpected("a number, 'text', list, dtype, device or file.npy");
        }
        return value;
    }

    /** Parses up to the end of the text or, in a collection, to the end of an element. */
    private String word(int depth) {
        int start = at;
        while (at < text.length() && !(depth > 0 && endsWord(start))) {
            at++;
        }
        return text.substring(start, at).trim();
    }

    private boolean endsWord(int start) {
        char c = text.charAt(at);
        // a device's index: cuda:1
        boolean inDevice = c == ':'
                && Constants.isDeviceType(text.substring(start, at))
                && at + 1 < text.length()
                && Character.isDigit(text.charAt(at + 1));
        return ENDS_WORD.indexOf(c) >= 0 && !inDevice;
    }

    private void skipBlanks() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
    }

    private ArgumentException unexpected(String expected) {
        String found =
                at >= text.length() ? "the end" : "'" + text.substring(at, Math.min(text.length(), at + 20)) + "'";
        return new ArgumentException(
                "expected " + expected + ", found " + found + (at == 0 ? "" : " at " + at + " of " + shown()));
    }

    private String shown() {
        return text.length() > 80 ? text.substring(0, 80) + "…" : text;
    }
}
