package io.waybill.script.source;

import io.waybill.script.source.PythonTokens.Kind;
import io.waybill.script.source.PythonTokens.Token;
import java.util.ArrayList;
import java.util.List;

/**
 * Python text as its top-level statements. Immutable.
 *
 * @param statements in their order
 */
record PythonSource(String text, List<Statement> statements) {

    /** Kind of a statement at top level. */
    enum Form {
        IMPORT,
        FUNCTION,
        CLASS,
        ASSIGNMENT,
        /** A statement that is not run, because only Python could. */
        OTHER
    }

    /**
     * A statement with its body.
     *
     * @param name name of a function, class or variable; otherwise empty
     * @param tokens tokens of all its lines, beginning with decorators
     * @param header index of its first token after the decorators
     */
    record Statement(Form form, String name, List<Token> tokens, int header) {

        int line() {
            return tokens.get(header).line();
        }

        int firstLine() {
            return tokens.get(0).line();
        }

        int lastLine() {
            return tokens.get(tokens.size() - 1).line();
        }

        boolean isDefinition() {
            return form == Form.FUNCTION || form == Form.CLASS;
        }
    }

    static PythonSource of(String text) throws ScriptRefusedException {
        return new PythonSource(text, split(PythonTokens.of(text).tokens()));
    }

    /** Returns the text with blanks for comments. */
    static String withoutComments(String original) throws ScriptRefusedException {
        StringBuilder text = new StringBuilder(original);
        for (int[] comment : PythonTokens.of(original).comments()) {
            for (int i = comment[0]; i < comment[1]; i++) {
                text.setCharAt(i, ' ');
            }
        }
        return text.toString();
    }

    private static List<Statement> split(List<Token> tokens) {
        List<Statement> statements = new ArrayList<>();
        int start = 0;
        int header = 0;
        boolean decorated = false;
        for (int i = 0; i < tokens.size(); i++) {
            boolean beginsLine = i == 0 || tokens.get(i - 1).kind() == Kind.NEWLINE;
            if (!beginsLine || tokens.get(i).column() > 0) {
                continue;
            }
            if (i > start && !decorated && !isElse(tokens.get(i))) {
                statements.add(statement(tokens.subList(start, i), header - start));
                start = i;
            }
            decorated = tokens.get(i).is("@");
            if (!isElse(tokens.get(i))) {
                header = i;
            }
        }
        if (start < tokens.size()) {
            statements.add(statement(tokens.subList(start, tokens.size()), header - start));
        }
        return statements;
    }

    /** Returns whether a line continues the statement at its own depth. */
    private static boolean isElse(Token first) {
        return first.is("else") || first.is("elif") || first.is("except") || first.is("finally");
    }

    private static Statement statement(List<Token> tokens, int header) {
        Token first = tokens.get(header);
        Token second = tokens.get(Math.min(header + 1, tokens.size() - 1));
        if (first.is("def") || first.is("class")) {
            return new Statement(first.is("def") ? Form.FUNCTION : Form.CLASS, second.text(), tokens, header);
        } else if (first.is("import") || first.is("from")) {
            return new Statement(Form.IMPORT, "", tokens, header);
        } else if (first.isName() && (second.is("=") || second.is(":"))) {
            return new Statement(Form.ASSIGNMENT, first.text(), tokens, header);
        }
        return new Statement(Form.OTHER, "", tokens, header);
    }
}
