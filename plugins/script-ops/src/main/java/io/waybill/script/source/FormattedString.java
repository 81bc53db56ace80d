package io.waybill.script.source;

import io.waybill.script.source.PythonTokens.Token;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * String literal, or several adjacent ones, in the form that libtorch parses: an f-string as a call of {@code format},
 * a raw one with its backslashes doubled.
 */
final class FormattedString {

    /** Translator of expressions in braces. */
    interface Expressions {
        String translated(String expression) throws ScriptRefusedException;
    }

    private final Expressions expressions;
    private final List<String> arguments = new ArrayList<>();
    private boolean isFormatted;

    private FormattedString(Expressions expressions) {
        this.expressions = expressions;
    }

    static String of(List<Token> literals, Expressions expressions) throws ScriptRefusedException {
        FormattedString string = new FormattedString(expressions);
        string.isFormatted =
                literals.stream().anyMatch(literal -> prefix(literal.text()).indexOf('f') >= 0);
        StringBuilder result = new StringBuilder();
        for (Token literal : literals) {
            result.append(result.isEmpty() ? "" : " ").append(string.literal(literal));
        }
        if (!string.arguments.isEmpty()) {
            result.append(".format(")
                    .append(String.join(", ", string.arguments))
                    .append(')');
        }
        return result.toString();
    }

    private static String prefix(String literal) {
        int quote = 0;
        while (literal.charAt(quote) != '"' && literal.charAt(quote) != '\'') {
            quote++;
        }
        return literal.substring(0, quote).toLowerCase(Locale.ROOT);
    }

    private String literal(Token token) throws ScriptRefusedException {
        String prefix = prefix(token.text());
        String quoted = token.text().substring(prefix.length());
        if (prefix.indexOf('b') >= 0) {
            throw refused(token, "TorchScript has no bytes");
        }
        String quote = quoted.startsWith(quoted.substring(0, 1).repeat(3)) && quoted.length() >= 6
                ? quoted.substring(0, 3)
                : quoted.substring(0, 1);
        String body = quoted.substring(quote.length(), quoted.length() - quote.length());
        if (prefix.indexOf('r') >= 0) {
            body = body.replace("\\", "\\\\");
        }
        if (prefix.indexOf('f') >= 0) {
            body = formatted(token, body);
        } else if (isFormatted && body.contains("{}")) {
            throw refused(token, "a string with {} can't be part of an f-string");
        }
        return quote + body + quote;
    }

    private String formatted(Token token, String body) throws ScriptRefusedException {
        StringBuilder result = new StringBuilder();
        int at = 0;
        while (at < body.length()) {
            char c = body.charAt(at);
            boolean isDoubled = at + 1 < body.length() && body.charAt(at + 1) == c;
            if ((c == '{' || c == '}') && isDoubled) {
                result.append(c);
                if (result.toString().endsWith("{}")) {
                    throw refused(token, "an f-string can't contain {{}}");
                }
                at += 2;
            } else if (c == '{') {
                int end = end(body, at + 1);
                if (end < 0) {
                    throw refused(token, "a brace of this f-string never closes");
                }
                argument(token, body.substring(at + 1, end));
                result.append("{}");
                at = end + 1;
            } else {
                result.append(c);
                at++;
            }
        }
        return result.toString();
    }

    private static int end(String body, int from) {
        int depth = 0;
        for (int i = from; i < body.length(); i++) {
            char c = body.charAt(i);
            if (c == '}' && depth == 0) {
                return i;
            }
            depth += "([{".indexOf(c) >= 0 ? 1 : ")]}".indexOf(c) >= 0 ? -1 : 0;
        }
        return -1;
    }

    private void argument(Token token, String expression) throws ScriptRefusedException {
        int depth = 0;
        boolean inString = false;
        for (int i = 0; i < expression.length(); i++) {
            char c = expression.charAt(i);
            inString ^= c == '"' || c == '\'';
            depth += "([{".indexOf(c) >= 0 ? 1 : ")]}".indexOf(c) >= 0 ? -1 : 0;
            boolean isConversion = c == '!' && !expression.startsWith("!=", i);
            if (!inString && depth == 0 && (c == ':' || isConversion)) {
                throw refused(token, "an f-string of TorchScript has no formats and conversions: {" + expression + "}");
            }
        }
        if (expression.isBlank() || expression.strip().endsWith("=")) {
            throw refused(token, "an f-string of TorchScript has expressions only: {" + expression + "}");
        }
        arguments.add(expressions.translated(expression.strip()));
    }

    private static ScriptRefusedException refused(Token token, String why) {
        return new ScriptRefusedException("line " + token.line() + ": " + why);
    }
}
