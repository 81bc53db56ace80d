package io.waybill.script.source;

import io.waybill.script.source.PythonSource.Form;
import io.waybill.script.source.PythonSource.Statement;
import io.waybill.script.source.PythonTokens.Kind;
import io.waybill.script.source.PythonTokens.Token;
import java.util.ArrayList;
import java.util.List;

/**
 * Rewrites named tuples whose fields have defaults, which libtorch can't parse: the class loses them, and a function
 * with the defaults creates its values.
 */
final class NamedTuples {

    private NamedTuples() {}

    static boolean hasDefaults(Statement statement) {
        return isNamedTuple(statement)
                && statement.tokens().stream().anyMatch(token -> token.is("="))
                && statement.tokens().stream().noneMatch(token -> token.is("def"));
    }

    static boolean isNamedTuple(Statement statement) {
        List<Token> tokens = statement.tokens();
        boolean found = false;
        for (int i = statement.header(); i < tokens.size() && tokens.get(i).kind() != Kind.NEWLINE; i++) {
            found |= tokens.get(i).is("NamedTuple");
        }
        return statement.form() == Form.CLASS && found;
    }

    /** Returns the name of the function that creates values. */
    static String maker(String name) {
        return "__new__" + name;
    }

    /**
     * Returns the text of the class without defaults.
     *
     * @param translated translated text of the class
     */
    static String withoutDefaults(String translated) {
        return translated.replaceAll("(?m)^(\\s+\\w+\\s*:[^=\\n]*)=.*$", "$1");
    }

    /** Returns the function that creates values. */
    static String maker(String name, String qualified, String translated) {
        List<String> parameters = new ArrayList<>();
        List<String> fields = new ArrayList<>();
        for (String line : translated.split("\n")) {
            if (line.matches("\\s+\\w+\\s*:.*")) {
                parameters.add(line.strip());
                fields.add(line.strip().split("\\s*:", 2)[0]);
            }
        }
        return "def " + maker(name) + "(" + String.join(", ", parameters) + ") -> " + qualified + ":\n    return "
                + qualified + "(" + String.join(", ", fields) + ")\n";
    }
}
