package io.waybill.script.source;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;

/**
 * The tokens of a Python text. Comments and blank lines have none, except the comment with the types of a function's
 * parameters, which libtorch reads. A line break inside brackets has no {@link Kind#NEWLINE}.
 *
 * <p><b>Threads.</b> One. <b>Errors.</b> A text whose brackets or strings don't end is refused, with the line.
 */
final class PythonTokens {

    /** Kind of token. */
    enum Kind {
        NAME,
        NUMBER,
        STRING,
        OPERATOR,
        NEWLINE
    }

    /**
     * A token.
     *
     * @param start offset of the first character
     * @param end offset after the last character
     * @param line first line, from 1
     * @param column of its first character in that line
     */
    record Token(Kind kind, String text, int start, int end, int line, int column) {

        boolean is(String wanted) {
            return (kind == Kind.NAME || kind == Kind.OPERATOR) && text.equals(wanted);
        }

        boolean isName() {
            return kind == Kind.NAME;
        }
    }

    /** Operators, longer ones first. */
    private static final List<String> OPERATORS = List.of(
            "**=", "//=", ">>=", "<<=", "...", "!=", "->", ":=", "==", "<=", ">=", "**", "//", "<<", ">>", "+=", "-=",
            "*=", "/=", "%=", "&=", "|=", "^=", "@=");

    private static final Set<String> STRING_PREFIXES = Set.of("r", "u", "b", "f", "br", "rb", "fr", "rf");
    private static final String TYPE_COMMENT = "# type: (";

    private final String text;
    private final List<Token> tokens = new ArrayList<>();
    private final Deque<Token> open = new ArrayDeque<>();
    private final List<int[]> comments = new ArrayList<>();
    private int at;
    private int line = 1;
    private int lineStart;

    private PythonTokens(String text) {
        this.text = text;
    }

    /** Tokens of a text, with the positions of its comments. */
    record Read(List<Token> tokens, List<int[]> comments) {}

    static Read of(String text) throws ScriptRefusedException {
        PythonTokens reader = new PythonTokens(text);
        while (reader.at < text.length()) {
            reader.next();
        }
        if (!reader.open.isEmpty()) {
            Token bracket = reader.open.peek();
            throw new ScriptRefusedException("line " + bracket.line + ": this " + bracket.text + " is never closed");
        }
        reader.endLine();
        return new Read(reader.tokens, reader.comments);
    }

    private void next() throws ScriptRefusedException {
        char c = text.charAt(at);
        if (c == '\n') {
            endLine();
            at++;
            newLine();
        } else if (c == '\\' && at + 1 < text.length() && text.charAt(at + 1) == '\n') {
            at += 2;
            newLine();
        } else if (Character.isWhitespace(c)) {
            at++;
        } else if (c == '#') {
            comment();
        } else if (c == '"' || c == '\'') {
            string(at);
        } else if (Character.isLetter(c) || c == '_') {
            name();
        } else if (isDigit(at) || c == '.' && isDigit(at + 1)) {
            number();
        } else {
            operator();
        }
    }

    private void newLine() {
        line++;
        lineStart = at;
    }

    private void endLine() {
        boolean begun = !tokens.isEmpty() && tokens.get(tokens.size() - 1).kind != Kind.NEWLINE;
        if (open.isEmpty() && begun) {
            add(Kind.NEWLINE, at, at);
        }
    }

    private void add(Kind kind, int start, int end) {
        tokens.add(new Token(kind, text.substring(start, end), start, end, line, start - lineStart));
    }

    private void comment() {
        int end = text.indexOf('\n', at);
        end = end < 0 ? text.length() : end;
        if (!text.startsWith(TYPE_COMMENT, at)) {
            comments.add(new int[] {at, end});
        }
        at = end;
    }

    private void name() throws ScriptRefusedException {
        int start = at;
        while (at < text.length() && Character.isJavaIdentifierPart(text.charAt(at)) && text.charAt(at) != '$') {
            at++;
        }
        boolean quoted = at < text.length() && (text.charAt(at) == '"' || text.charAt(at) == '\'');
        if (quoted && STRING_PREFIXES.contains(text.substring(start, at).toLowerCase(java.util.Locale.ROOT))) {
            string(start);
        } else {
            add(Kind.NAME, start, at);
        }
    }

    private void string(int start) throws ScriptRefusedException {
        String one = text.substring(at, at + 1);
        String quote = text.startsWith(one.repeat(3), at) ? one.repeat(3) : one;
        int end = at + quote.length();
        while (end < text.length() && !text.startsWith(quote, end)) {
            if (quote.length() == 1 && text.charAt(end) == '\n') {
                break;
            }
            end += text.charAt(end) == '\\' ? 2 : 1;
        }
        if (end >= text.length() || !text.startsWith(quote, end)) {
            throw new ScriptRefusedException("line " + line + ": the string that begins here never ends");
        }
        end += quote.length();
        add(Kind.STRING, start, end);
        for (; at < end; at++) {
            if (text.charAt(at) == '\n') {
                line++;
                lineStart = at + 1;
            }
        }
    }

    private boolean isDigit(int index) {
        return index < text.length() && text.charAt(index) >= '0' && text.charAt(index) <= '9';
    }

    private void number() {
        int start = at;
        boolean hex = text.startsWith("0x", at) || text.startsWith("0X", at);
        while (at < text.length()) {
            char c = text.charAt(at);
            boolean sign = (c == '+' || c == '-') && !hex && "eE".indexOf(text.charAt(at - 1)) >= 0 && at > start;
            if (!sign && c != '.' && c != '_' && !Character.isLetterOrDigit(c)) {
                break;
            }
            at++;
        }
        add(Kind.NUMBER, start, at);
    }

    private void operator() throws ScriptRefusedException {
        int start = at;
        String longer = OPERATORS.stream()
                .filter(operator -> text.startsWith(operator, start))
                .findFirst()
                .orElse(text.substring(at, at + 1));
        at += longer.length();
        add(Kind.OPERATOR, start, at);
        if ("([{".contains(longer)) {
            open.push(tokens.get(tokens.size() - 1));
        } else if (")]}".contains(longer)) {
            Token opening = open.poll();
            if (opening == null || "([{".indexOf(opening.text) != ")]}".indexOf(longer)) {
                throw new ScriptRefusedException("line " + line + ": this " + longer + " closes nothing");
            }
        }
    }
}
