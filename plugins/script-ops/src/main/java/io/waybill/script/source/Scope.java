package io.waybill.script.source;

import io.waybill.script.source.PythonSource.Form;
import io.waybill.script.source.PythonSource.Statement;
import io.waybill.script.source.PythonTokens.Token;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Top-level names of a source: imported, defined and assigned ones.
 *
 * <p><b>Threads.</b> One.
 */
final class Scope {

    /** Types that need no import, which appended text uses, too. */
    private static final Set<String> BUILT_IN_TYPES = Set.of("list", "dict", "tuple");

    private final String namespace;
    /** Imported names, with their qualified names. */
    private final Map<String, String> imports = new HashMap<>();
    /** Functions and classes. */
    private final Map<String, Statement> definitions = new LinkedHashMap<>();

    private final Set<String> variables = new HashSet<>();
    /** Translated values of constants. */
    private final Map<String, String> constants = new HashMap<>();

    /**
     * Reads the names.
     *
     * @param namespace of the source's own definitions, such as {@code __torch__.math}
     */
    Scope(String namespace, PythonSource source) {
        this.namespace = namespace;
        imports.put("torch", "torch");
        for (Statement statement : source.statements()) {
            if (statement.form() == Form.IMPORT) {
                readImport(statement.tokens());
            } else if (statement.isDefinition()) {
                definitions.putIfAbsent(statement.name(), statement);
            } else if (statement.form() == Form.ASSIGNMENT) {
                variables.add(statement.name());
            }
        }
    }

    private void readImport(List<Token> tokens) {
        int at = 1;
        String module = "";
        if (tokens.get(0).is("from")) {
            StringBuilder from = new StringBuilder();
            while (!tokens.get(at).is("import") && at < tokens.size() - 1) {
                from.append(tokens.get(at++).text());
            }
            module = from + ".";
            at++;
        }
        while (at < tokens.size() && !tokens.get(at).text().isEmpty()) {
            if (!tokens.get(at).isName()) {
                at++;
                continue;
            }
            StringBuilder name = new StringBuilder(tokens.get(at++).text());
            while (tokens.get(at).is(".")) {
                name.append('.').append(tokens.get(at + 1).text());
                at += 2;
            }
            if (tokens.get(at).is("as")) {
                imports.put(tokens.get(at + 1).text(), module + name);
                at += 2;
            } else {
                String known = module.isEmpty() ? name.toString().split("\\.")[0] : name.toString();
                imports.put(known, module + known);
            }
        }
    }

    Optional<Statement> definition(String name) {
        return Optional.ofNullable(definitions.get(name));
    }

    /** Returns libtorch's name of a definition. */
    String qualified(String name) {
        return namespace + "." + name;
    }

    /**
     * Returns libtorch's name of one of the source's own names.
     *
     * @param isCalled whether brackets follow
     */
    Optional<String> own(String name, boolean isCalled) {
        if (definitions.containsKey(name)) {
            return Optional.of(qualified(
                    isCalled && NamedTuples.hasDefaults(definitions.get(name)) ? NamedTuples.maker(name) : name));
        }
        return Optional.ofNullable(constants.get(name));
    }

    /** Returns whether the source assigns a name at top level. */
    boolean isVariable(String name) {
        return variables.contains(name);
    }

    /** Adds a constant with its value. */
    void define(String name, String constant) {
        constants.put(name, constant);
    }

    /** Removes a constant: another statement may change it. */
    void undefine(String name) {
        constants.remove(name);
    }

    Optional<String> imported(String name) {
        return Optional.ofNullable(imports.get(name));
    }

    /** Returns the type of the {@code typing} module for a built-in one with a subscript, such as {@code list[int]}. */
    static Optional<String> builtInType(String name) {
        return BUILT_IN_TYPES.contains(name)
                ? Optional.of(Character.toUpperCase(name.charAt(0)) + name.substring(1))
                : Optional.empty();
    }
}
