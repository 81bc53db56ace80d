package io.waybill.cli.tool;

import io.waybill.api.Value;
import io.waybill.cli.show.Printable;
import java.io.PrintWriter;
import java.util.Locale;

/** Formats the help of a bundle's command. Stateless. */
final class ToolHelp {

    private ToolHelp() {}

    static void print(Value command, String node, PrintWriter out) {
        String name = ToolFields.text(command, "name");
        StringBuilder usage = new StringBuilder("Usage: waybill " + name + " --node NAME [--home DIR] [--json]");
        for (Value option : ToolFields.items(command, "options")) {
            usage.append(" [").append(written(option)).append(']');
        }
        String argument = ToolFields.text(command, "argument");
        if (!argument.isEmpty()) {
            boolean needed = ToolFields.number(command, "min_arguments") > 0;
            boolean several = ToolFields.number(command, "max_arguments") > 1;
            usage.append(needed ? " " : " [")
                    .append(argument)
                    .append(several ? "..." : "")
                    .append(needed ? "" : "]");
        }
        line(out, usage.toString());
        line(out, ToolFields.text(command, "summary"));
        if (!ToolFields.text(command, "help").isEmpty()) {
            out.println();
            line(out, ToolFields.text(command, "help"));
        }
        out.println();
        for (Value option : ToolFields.items(command, "options")) {
            line(out, String.format(Locale.ROOT, "      %-22s %s", written(option), ToolFields.text(option, "text")));
        }
        long limitMs = ToolFields.number(command, "limit_ms");
        line(
                out,
                "A command of " + ToolFields.text(command, "provider") + " " + ToolFields.text(command, "version")
                        + " in node " + node
                        + (limitMs == 0 ? "; runs until it is ended." : "; ends after " + limitMs + " ms."));
    }

    private static String written(Value option) {
        String value = ToolFields.text(option, "value");
        return ToolFields.text(option, "name") + (value.isEmpty() ? "" : " " + value);
    }

    private static void line(PrintWriter out, String text) {
        out.println(Printable.of(text.stripTrailing()));
    }
}
