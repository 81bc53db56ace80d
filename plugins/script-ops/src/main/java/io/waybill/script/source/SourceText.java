package io.waybill.script.source;

import io.waybill.script.source.PythonSource.Form;
import io.waybill.script.source.PythonSource.Statement;
import io.waybill.script.source.PythonTokens.Kind;
import io.waybill.script.source.PythonTokens.Token;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Text of a source for libtorch's importer: each function and class is rewritten separately, so that an error refuses
 * only one of them and its users.
 *
 * <p>Lines keep their numbers. <b>Threads.</b> One.
 */
public final class SourceText {

    private static final Pattern LINE = Pattern.compile("^line (\\d+): (.*)", Pattern.DOTALL);
    private static final Pattern END = Pattern.compile("found '(newline|indent|dedent)' here");
    /** Names of modules that libtorch's grammar, or the bundle's own files, reserve. */
    private static final Set<String> RESERVED = Set.of(
            "__waybill__",
            "def",
            "for",
            "if",
            "in",
            "is",
            "not",
            "and",
            "or",
            "with",
            "as",
            "assert",
            "class",
            "del",
            "else",
            "elif",
            "import",
            "pass",
            "raise",
            "return",
            "while",
            "from",
            "lambda",
            "global",
            "break",
            "continue",
            "None",
            "True",
            "False");

    private static final Set<String> CONSTANTS = Set.of("True", "False", "None", "inf", "nan");

    private final String module;
    private final PythonSource source;
    private final Scope scope;
    private final Map<Statement, String> translated = new LinkedHashMap<>();
    private final Map<Statement, Map<String, Integer>> uses = new LinkedHashMap<>();
    /** Reasons for refusals of functions and classes, by name. */
    private final Map<String, String> refusals = new LinkedHashMap<>();

    private SourceText(String module, PythonSource source) {
        this.module = RESERVED.contains(module) ? module + "_" : module;
        this.source = source;
        this.scope = new Scope(namespace(), source);
    }

    /**
     * Parses a source.
     *
     * @param module first part of the functions' names
     * @throws ScriptRefusedException if it can't be split into functions, with the line
     */
    public static SourceText of(String module, String text) throws ScriptRefusedException {
        String unix = PythonSource.withoutComments(text.replace("\r\n", "\n"));
        SourceText result = new SourceText(module, PythonSource.of(Comparisons.unchained(unix)));
        result.translate();
        result.refuseDependents();
        return result;
    }

    /** Returns the namespace of the functions in libtorch. */
    public String namespace() {
        return "__torch__." + module;
    }

    private void translate() {
        for (Statement statement : source.statements()) {
            if (statement.form() == Form.ASSIGNMENT) {
                scope.undefine(statement.name()); // the last one counts
                constant(statement);
            } else if (statement.form() == Form.OTHER) {
                statement.tokens().stream().filter(Token::isName).forEach(token -> scope.undefine(token.text()));
            }
        }
        for (Statement statement : source.statements()) {
            if (statement.isDefinition() && !isException(statement)) {
                translate(statement);
            }
        }
    }

    private static boolean isException(Statement statement) {
        List<Token> tokens = statement.tokens();
        int base = statement.header() + 3;
        return statement.form() == Form.CLASS
                && base < tokens.size()
                && tokens.get(base).text().matches("\\w*(Exception|Error|Warning)");
    }

    private void translate(Statement statement) {
        try {
            Statement first = scope.definition(statement.name()).orElseThrow();
            if (first != statement) {
                translated.remove(first);
                refusals.remove(statement.name());
                throw new ScriptRefusedException("line " + statement.line() + ": " + statement.name()
                        + " is defined already, in line " + first.line());
            }
            requireBodies(statement.tokens());
            Translation translation = new Translation(source.text(), statement.tokens(), scope);
            String text = translation.translated(0, statement.tokens().size());
            uses.put(statement, translation.uses());
            translated.put(statement, text);
        } catch (ScriptRefusedException e) {
            refusals.putIfAbsent(statement.name(), e.getMessage());
        }
    }

    /** Refuses a block without lines, which libtorch would report in the next function. */
    private static void requireBodies(List<Token> tokens) throws ScriptRefusedException {
        for (int i = 0; i + 1 < tokens.size(); i++) {
            boolean isEnd = tokens.get(i + 1).kind() == Kind.NEWLINE;
            if (isEnd && tokens.get(i).is(":")) {
                boolean isLast = i + 2 >= tokens.size();
                int line = i;
                while (line > 0 && tokens.get(line - 1).kind() != Kind.NEWLINE) {
                    line--;
                }
                if (isLast || tokens.get(i + 2).column() <= tokens.get(line).column()) {
                    throw new ScriptRefusedException(
                            "line " + tokens.get(i).line() + ": a block is expected behind this line");
                }
            }
        }
    }

    /** Defines a variable as a constant if its value is a number, a string, a type, or composed of them. */
    private void constant(Statement statement) {
        List<Token> tokens = statement.tokens();
        int depth = 0;
        int from = 0;
        for (int i = 0; i < tokens.size() && from == 0; i++) {
            depth += tokens.get(i).is("[") ? 1 : tokens.get(i).is("]") ? -1 : 0;
            from = depth == 0 && tokens.get(i).is("=") ? i + 1 : 0;
        }
        if (from == 0 || from >= tokens.size() - 1) {
            return;
        }
        try {
            List<Token> value = tokens.subList(from, tokens.size());
            String text = new Translation(source.text(), value, scope).translated(0, value.size() - 1);
            List<Token> words = PythonTokens.of(text).tokens();
            boolean isType = words.get(0).isName() && words.get(0).text().matches("[A-Z]\\w+");
            if (isType
                    || words.stream().allMatch(SourceText::isConstant)
                            && !words.get(0).is("[")) {
                scope.define(statement.name(), isType ? text : "(" + text + ")");
            }
        } catch (ScriptRefusedException e) {
            return; // no constant: refused in a function that uses it
        }
    }

    private static boolean isConstant(Token token) {
        return token.isName() ? CONSTANTS.contains(token.text()) : !token.is("{") && !token.is("[");
    }

    /** Refuses definitions that use refused ones, and recursive ones. */
    private void refuseDependents() {
        boolean changed = true;
        while (changed) {
            changed = false;
            for (Statement statement : List.copyOf(translated.keySet())) {
                for (Map.Entry<String, Integer> use : uses.get(statement).entrySet()) {
                    String why = refusals.get(use.getKey());
                    if (why != null && translated.remove(statement) != null) {
                        refusals.put(
                                statement.name(),
                                "line " + use.getValue() + ": it uses " + use.getKey() + ", which is refused: " + why);
                        changed = true;
                    }
                }
                if (translated.containsKey(statement)
                        && statement.form() == Form.FUNCTION
                        && reaches(statement, statement.name(), 0)) {
                    translated.remove(statement);
                    refusals.put(
                            statement.name(),
                            "line " + statement.line() + ": " + statement.name()
                                    + " calls itself: functions of TorchScript can't be recursive");
                    changed = true;
                }
            }
        }
    }

    private boolean reaches(Statement from, String name, int depth) {
        if (depth > source.statements().size() || !uses.containsKey(from)) {
            return false;
        }
        Set<String> direct = uses.get(from).keySet();
        return direct.contains(name)
                || direct.stream()
                        .flatMap(used -> scope.definition(used).stream())
                        .filter(used -> used.form() == Form.FUNCTION && used != from)
                        .anyMatch(used -> reaches(used, name, depth + 1));
    }

    /** Returns the names of the functions to compile, in their order. */
    public List<String> functions() {
        return translated.keySet().stream()
                .filter(statement -> statement.form() == Form.FUNCTION)
                .map(Statement::name)
                .collect(Collectors.toList());
    }

    /** Returns the positions of element types in a function's declared result. */
    public ElementTypes elementTypes(String function) {
        return scope.definition(function)
                .map(statement -> ElementTypes.of(statement.tokens(), scope))
                .orElse(ElementTypes.NONE);
    }

    /** Returns the reasons for refusals of functions, by name, with the line. */
    public Map<String, String> refusals() {
        Map<String, String> functions = new LinkedHashMap<>();
        source.statements().stream()
                .filter(Statement::isDefinition)
                .filter(statement -> refusals.containsKey(statement.name()))
                .forEach(statement -> functions.put(statement.name(), refusals.get(statement.name())));
        return functions;
    }

    /**
     * Refuses the function or class with an error.
     *
     * @return whether there is one
     */
    public boolean refuse(ScriptRefusedException error) {
        Matcher line = LINE.matcher(error.getMessage());
        if (!line.find()) {
            return false;
        }
        // for an incomplete line, libtorch names the next one
        int number = Integer.parseInt(line.group(1))
                - (END.matcher(error.getMessage()).find() ? 1 : 0);
        Optional<Statement> found = at(number);
        found.ifPresent(statement -> {
            translated.remove(statement);
            int shown = Math.min(number, statement.lastLine());
            refusals.put(statement.name(), "line " + shown + ": " + line.group(2));
            refuseDependents();
        });
        return found.isPresent();
    }

    /** Returns the last definition that begins before a line, even if the line is after its end. */
    private Optional<Statement> at(int line) {
        return translated.keySet().stream()
                .filter(statement -> statement.firstLine() <= line)
                .reduce((one, other) -> other);
    }

    /** Returns the files to import, by their path below the namespace of all code. */
    Map<String, String> files() {
        StringBuilder text = new StringBuilder();
        StringBuilder behind = new StringBuilder();
        int line = 1;
        for (Map.Entry<Statement, String> entry : translated.entrySet()) {
            Statement statement = entry.getKey();
            String definition = entry.getValue();
            if (NamedTuples.hasDefaults(statement)) {
                String qualified = scope.qualified(statement.name());
                behind.append('\n').append(NamedTuples.maker(statement.name(), qualified, definition));
                definition = NamedTuples.withoutDefaults(definition);
            }
            for (; line < statement.firstLine(); line++) {
                text.append('\n');
            }
            text.append(definition.stripTrailing()).append('\n');
            line += (int) definition
                            .stripTrailing()
                            .chars()
                            .filter(c -> c == '\n')
                            .count()
                    + 1;
        }
        Map<String, String> files = new LinkedHashMap<>(TorchNames.ownFiles());
        files.put(module + ".py", text.append(behind).toString());
        return files;
    }

    /** Returns the file name of the source in errors. */
    String path() {
        return module + ".py";
    }

    /** Text without the function with an error, and the name of the function. */
    public record Cut(String text, String function) {}

    /** Returns the text without the definition with an error; empty if the error is in none. */
    public static Optional<Cut> without(String text, ScriptRefusedException error) throws ScriptRefusedException {
        Matcher line = LINE.matcher(error.getMessage());
        int number = line.find() ? Integer.parseInt(line.group(1)) : 0;
        for (Statement statement : PythonSource.of(text).statements()) {
            if (statement.isDefinition() && statement.firstLine() <= number && number <= statement.lastLine()) {
                List<Token> tokens = statement.tokens();
                int from = tokens.get(0).start();
                int to = tokens.get(tokens.size() - 1).end();
                String blank = text.substring(from, to).replaceAll("[^\n]", "");
                return Optional.of(new Cut(text.substring(0, from) + blank + text.substring(to), statement.name()));
            }
        }
        return Optional.empty();
    }

    /** Returns the text of the class whose loading imports all functions. */
    String root() {
        List<String> lines = new ArrayList<>();
        lines.add("class Root(Module):");
        lines.add("  __parameters__ = []");
        lines.add("  __buffers__ = []");
        lines.add("  def load(self: __torch__.Root) -> NoneType:");
        functions().forEach(function -> lines.add("    " + scope.qualified(function)));
        lines.add("    return None");
        return String.join("\n", lines) + "\n";
    }
}
