package io.waybill.script.source;

import io.waybill.script.source.PythonTokens.Kind;
import io.waybill.script.source.PythonTokens.Token;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Rewrites chains of comparisons, which libtorch would compute from left to right: {@code 0 < x < 3} becomes
 * {@code (0 < x and x < 3)}, like PyTorch's front end.
 */
final class Comparisons {

    private static final Set<String> COMPARES = Set.of("<", ">", "<=", ">=", "==", "!=", "in", "is");
    private static final Set<String> ENDS = Set.of(
            ",", ":", "=", "and", "or", "if", "else", "for", "while", "elif", "return", "assert", "raise", "del",
            "lambda", "with", "as", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "**=", "//=", "<<=", ">>=", "->",
            ";");

    private final String text;
    private final List<Token> tokens;

    /** An expression at one depth of brackets, and the comparisons in it. */
    private static final class Part {
        private int first;
        private boolean isAfterFor;
        private final List<int[]> operators = new ArrayList<>();

        Part(int first) {
            this.first = first;
        }
    }

    private Comparisons(String text, List<Token> tokens) {
        this.text = text;
        this.tokens = tokens;
    }

    /** Returns the text without chains; lines keep their numbers. */
    static String unchained(String text) throws ScriptRefusedException {
        String result = text;
        while (true) {
            Optional<String> next =
                    new Comparisons(result, PythonTokens.of(result).tokens()).first();
            if (next.isEmpty()) {
                return result;
            }
            result = next.get();
        }
    }

    private Optional<String> first() {
        Deque<Part> parts = new ArrayDeque<>();
        parts.push(new Part(0));
        for (int i = 0; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            Part part = parts.peek();
            boolean closes = token.is(")") || token.is("]") || token.is("}");
            if (closes || token.kind() == Kind.NEWLINE || ends(token, part) || isNot(i)) {
                if (part.operators.size() > 1) {
                    return Optional.of(rewritten(part, i));
                }
                part.operators.clear();
                part.first = i + 1;
                part.isAfterFor = token.is("for");
                if (closes) {
                    parts.pop();
                }
            } else if (token.is("(") || token.is("[") || token.is("{")) {
                parts.push(new Part(i + 1));
            } else if (COMPARES.contains(token.text()) && token.kind() != Kind.STRING) {
                part.operators.add(operator(i));
            }
        }
        return Optional.empty();
    }

    private static boolean ends(Token token, Part part) {
        if (token.is("in") && part.isAfterFor) {
            return true;
        }
        return token.kind() != Kind.STRING && ENDS.contains(token.text());
    }

    /** Returns whether a {@code not} begins an expression, and is not part of {@code not in} or {@code is not}. */
    private boolean isNot(int i) {
        boolean isIn = i + 1 < tokens.size() && tokens.get(i + 1).is("in");
        return tokens.get(i).is("not") && !isIn && !(i > 0 && tokens.get(i - 1).is("is"));
    }

    private int[] operator(int i) {
        if (tokens.get(i).is("in") && i > 0 && tokens.get(i - 1).is("not")) {
            return new int[] {i - 1, i};
        }
        boolean isNot = tokens.get(i).is("is") && tokens.get(i + 1).is("not");
        return new int[] {i, isNot ? i + 1 : i};
    }

    private String rewritten(Part part, int end) {
        StringBuilder result = new StringBuilder(text);
        result.insert(tokens.get(end - 1).end(), ")");
        for (int k = part.operators.size() - 1; k > 0; k--) {
            int from = tokens.get(part.operators.get(k - 1)[1] + 1).start();
            int to = tokens.get(part.operators.get(k)[0] - 1).end();
            result.insert(to, " and " + text.substring(from, to).replace('\n', ' '));
        }
        return result.insert(tokens.get(part.first).start(), "(").toString();
    }
}
