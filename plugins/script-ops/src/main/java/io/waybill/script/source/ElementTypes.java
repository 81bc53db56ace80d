package io.waybill.script.source;

import io.waybill.script.source.PythonTokens.Token;
import java.util.ArrayList;
import java.util.List;

/**
 * Positions of element types in the result of a routine. They are ints in libtorch, so the header of a function
 * determines them. Immutable.
 *
 * @param isOne whether the whole result is one
 * @param parts positions in a tuple, a list, or the keys and the values of a dict; empty without an element type
 */
public record ElementTypes(boolean isOne, List<ElementTypes> parts) {

    public static final ElementTypes NONE = new ElementTypes(false, List.of());
    public static final ElementTypes ONE = new ElementTypes(true, List.of());

    private static final String DTYPE = "torch.dtype";

    /** A cursor over the tokens of a type. */
    private static final class Reader {

        private final List<Token> tokens;
        private final Scope scope;
        private int at;

        Reader(List<Token> tokens, int at, Scope scope) {
            this.tokens = tokens;
            this.at = at;
            this.scope = scope;
        }

        private boolean is(String text) {
            return at < tokens.size() && tokens.get(at).is(text);
        }

        ElementTypes read() {
            StringBuilder name = new StringBuilder();
            while (at < tokens.size() && (tokens.get(at).isName() || is("."))) {
                String text = tokens.get(at).text();
                name.append(name.isEmpty() ? scope.imported(text).orElse(text) : text);
                at++;
            }
            List<ElementTypes> parts = new ArrayList<>();
            if (is("[")) {
                do {
                    at++;
                    parts.add(read());
                } while (is(","));
                at++;
            }
            if (name.toString().equals(DTYPE)) {
                return ONE;
            } else if (parts.stream().allMatch(NONE::equals)) {
                return NONE;
            }
            return name.toString().matches("(typing\\.)?Optional") ? parts.get(0) : new ElementTypes(false, parts);
        }
    }

    /** Parses the header of a function. */
    static ElementTypes of(List<Token> function, Scope scope) {
        for (int i = 0; i < function.size() && !isEnd(function, i); i++) {
            if (function.get(i).is("->")) {
                return new Reader(function, i + 1, scope).read();
            }
        }
        return NONE;
    }

    private static boolean isEnd(List<Token> function, int i) {
        return function.get(i).kind() == PythonTokens.Kind.NEWLINE
                && i > 0
                && function.get(i - 1).is(":");
    }

    /**
     * Returns the positions in an element of a tuple, in a list (0), or in the keys (0) and the values (1) of a dict.
     */
    public ElementTypes part(int place) {
        return place < parts.size() ? parts.get(place) : NONE;
    }
}
