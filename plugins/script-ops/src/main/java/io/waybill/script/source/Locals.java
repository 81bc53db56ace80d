package io.waybill.script.source;

import io.waybill.script.source.PythonTokens.Kind;
import io.waybill.script.source.PythonTokens.Token;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;

/** Local names of functions: assigned names and parameters, which hide top-level names. Immutable. */
final class Locals {

    private static final Set<String> ASSIGNS =
            Set.of("=", ":", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "**=", "//=", "<<=", ">>=");
    private static final Set<String> BLOCKS =
            Set.of("if", "elif", "else", "while", "for", "with", "def", "class", "return", "assert", "raise", "@");

    private final List<Token> tokens;
    /** Names by the index of a function's first token. */
    private final NavigableMap<Integer, Set<String>> names = new TreeMap<>();

    private Locals(List<Token> tokens) {
        this.tokens = tokens;
    }

    static Locals of(List<Token> tokens) {
        Locals locals = new Locals(tokens);
        locals.names.put(0, new HashSet<>());
        int line = 0;
        for (int i = 0; i < tokens.size(); i++) {
            if (tokens.get(i).is("def")) {
                locals.names.put(i, new HashSet<>());
                locals.parameters(i + 3);
            } else if (tokens.get(i).is("for") || tokens.get(i).is("as")) {
                locals.targets(i + 1);
            } else if (tokens.get(i).kind() == Kind.NEWLINE) {
                locals.line(line, i);
                line = i + 1;
            }
        }
        return locals;
    }

    /** Returns whether the name at a token is local there. */
    boolean has(int index, String name) {
        return names.floorEntry(index).getValue().contains(name);
    }

    private void add(int index) {
        names.floorEntry(index).getValue().add(tokens.get(index).text());
    }

    private static int depth(Token token) {
        if (token.is("(") || token.is("[") || token.is("{")) {
            return 1;
        }
        return token.is(")") || token.is("]") || token.is("}") ? -1 : 0;
    }

    private void parameters(int from) {
        int depth = 1;
        boolean expected = true;
        for (int i = from; i < tokens.size() && depth > 0; i++) {
            Token token = tokens.get(i);
            depth += depth(token);
            if (depth == 1 && token.is(",")) {
                expected = true;
            } else if (expected && token.isName()) {
                add(i);
                expected = false;
            }
        }
    }

    private void targets(int from) {
        for (int i = from; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            if (token.isName() && !token.is("in")) {
                add(i);
            } else if (!token.is(",") && !token.is("(") && !token.is(")")) {
                return;
            }
            if (token.is(")")
                    && !tokens.get(i + 1).is("in")
                    && !tokens.get(i + 1).is(",")) {
                return;
            }
        }
    }

    /** Records the assignment in a line. */
    private void line(int from, int to) {
        if (from >= to || BLOCKS.contains(tokens.get(from).text())) {
            return;
        }
        int last = from;
        int depth = 0;
        for (int i = from; i < to; i++) {
            depth += depth(tokens.get(i));
            if (depth == 0
                    && tokens.get(i).kind() == Kind.OPERATOR
                    && ASSIGNS.contains(tokens.get(i).text())) {
                last = i;
                if (tokens.get(i).is(":")) {
                    break; // the rest is a type
                }
            }
        }
        for (int i = from; i < last; i++) {
            boolean isPart =
                    i > from && (tokens.get(i - 1).is(".") || tokens.get(i - 1).is("["));
            Token next = tokens.get(i + 1);
            if (tokens.get(i).isName() && !isPart && !next.is(".") && !next.is("[") && !next.is("(")) {
                add(i);
            }
        }
    }
}
