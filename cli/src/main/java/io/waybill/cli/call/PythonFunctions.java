package io.waybill.cli.call;

import io.waybill.api.admin.OperationInfo;
import io.waybill.api.handler.FieldType;
import io.waybill.api.handler.OperationDescription;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Python module with a typed function for each described operation, which calls it through the package
 * {@code waybill}, on Python 3.8 or newer. The texts of descriptions are only in literals, and in names that are made valid,
 * so that importing the module runs nothing of theirs. For one thread.
 */
final class PythonFunctions {

    /** Words that can't be names, and names that the functions use. */
    private static final Set<String> RESERVED = Set.of(
            ("False None True and as assert async await break class continue def del elif else except finally for from"
                            + " global if import in is lambda nonlocal not or pass raise return try while with"
                            + " waybill typing to timeout fields")
                    .split(" "));

    private static final Set<String> MODULE_NAMES = Set.of("waybill", "typing");

    private static final Map<FieldType, String> TYPES = Map.of(
            FieldType.TEXT, "str",
            FieldType.INTEGER, "int",
            FieldType.REAL, "float",
            FieldType.BOOLEAN, "bool",
            FieldType.BYTES, "bytes",
            FieldType.LIST, "typing.List[typing.Any]",
            FieldType.DICT, "typing.Dict[typing.Any, typing.Any]",
            FieldType.TENSOR, "typing.Any",
            FieldType.ANY, "typing.Any");

    /** Operation with the workers that serve it. */
    private record Callee(OperationDescription description, List<String> workers) {}

    private final Map<String, Callee> callees = new LinkedHashMap<>();
    private final Set<String> used = new HashSet<>(MODULE_NAMES);
    private final StringBuilder text = new StringBuilder();

    /** If workers describe an operation in different words, those of the first one count. */
    PythonFunctions(List<OperationsCommand.Served> served) {
        for (OperationsCommand.Served each : served) {
            for (OperationInfo operation : each.operations()) {
                boolean isCalledByName = operation.name().contains(".")
                        && !operation.name().contains(":")
                        && !operation.name().contains("*");
                if (isCalledByName && operation.description().isPresent()) {
                    callees.computeIfAbsent(
                                    operation.name(),
                                    name -> new Callee(operation.description().get(), new ArrayList<>()))
                            .workers()
                            .add(each.worker());
                }
            }
        }
    }

    String module() {
        line(
                "\"\"\"Operations of a home, as their authors describe them; written by waybill operations --python.\"\"\"");
        line("");
        line("import typing");
        line("");
        line("import waybill");
        callees.values().forEach(this::function);
        return text.toString();
    }

    private void function(Callee callee) {
        OperationDescription operation = callee.description();
        String name = unique(identifier(operation.name()), used);
        String result = result(operation, name);
        Map<OperationDescription.Field, String> parameters = new LinkedHashMap<>();
        Set<String> taken = new HashSet<>();
        operation.arguments().forEach(each -> parameters.put(each, unique(identifier(each.name()), taken)));
        line("");
        line("");
        line("def " + name + "(");
        line("    *,");
        parameters.forEach((field, parameter) -> {
            if (!field.optional()) {
                line("    " + parameter + ": " + TYPES.get(field.type()) + ",");
            }
        });
        line("    to: str"
                + (callee.workers().size() == 1
                        ? " = " + literal(callee.workers().get(0))
                        : "") + ",");
        parameters.forEach((field, parameter) -> {
            if (field.optional()) {
                line("    " + parameter + ": typing.Optional[" + TYPES.get(field.type()) + "] = None,");
            }
        });
        line("    timeout: typing.Optional[float] = 60.0,");
        line(") -> " + result + ":");
        line("    " + literal(documentation(operation, parameters)));
        line("    fields: typing.Dict[str, typing.Any] = {}");
        parameters.forEach((field, parameter) -> {
            String indent = "    ";
            if (field.optional()) {
                line("    if " + parameter + " is not None:");
                indent += "    ";
            }
            line(indent + "fields[" + literal(field.name()) + "] = " + parameter);
        });
        line("    return waybill.call(" + literal(operation.name()) + ", to=to, timeout=timeout, fields=fields)");
    }

    /** Writes the type of the response, and returns its name. */
    private String result(OperationDescription operation, String function) {
        if (operation.result().isEmpty()) {
            return "typing.Any";
        }
        String name = unique(function + "_result", used);
        boolean isTotal = operation.result().stream().noneMatch(OperationDescription.Field::optional);
        line("");
        line("");
        line(name + " = typing.TypedDict(");
        line("    " + literal(name) + ",");
        line("    {");
        operation
                .result()
                .forEach(each -> line("        " + literal(each.name()) + ": " + TYPES.get(each.type()) + ","));
        line("    },");
        line("    total=" + (isTotal ? "True" : "False") + ",");
        line(")");
        return name;
    }

    private static String documentation(
            OperationDescription operation, Map<OperationDescription.Field, String> parameters) {
        StringBuilder text = new StringBuilder(operation.summary());
        parameters.forEach((field, parameter) ->
                text.append("\n\n:param ").append(parameter).append(": ").append(field.text()));
        operation
                .result()
                .forEach(field -> text.append("\n\n:return: ")
                        .append(field.name())
                        .append(": ")
                        .append(field.text()));
        return text.toString();
    }

    /** Returns a valid name in ASCII. */
    private static String identifier(String name) {
        String valid = name.replaceAll("[^A-Za-z0-9_]", "_");
        if (!valid.isEmpty() && Character.isDigit(valid.charAt(0)) || valid.startsWith("__")) {
            valid = "f_" + valid;
        }
        return RESERVED.contains(valid) ? valid + "_" : valid;
    }

    private static String unique(String name, Set<String> used) {
        String unique = name;
        for (int n = 2; !used.add(unique); n++) {
            unique = name + "_" + n;
        }
        return unique;
    }

    /** Returns a string literal in ASCII. */
    private static String literal(String content) {
        StringBuilder literal = new StringBuilder("\"");
        content.codePoints().forEach(c -> {
            if (c == '"' || c == '\\') {
                literal.append('\\').append((char) c);
            } else if (c >= ' ' && c < 0x7f) {
                literal.append((char) c);
            } else {
                literal.append(String.format(Locale.ROOT, "\\U%08x", c));
            }
        });
        return literal.append('"').toString();
    }

    private void line(String line) {
        text.append(line).append('\n');
    }
}
