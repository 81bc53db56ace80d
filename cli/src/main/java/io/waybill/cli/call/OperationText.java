package io.waybill.cli.call;

import io.waybill.api.admin.OperationInfo;
import io.waybill.api.handler.FieldType;
import io.waybill.api.handler.OperationDescription;
import io.waybill.cli.show.Printable;
import io.waybill.cli.show.ShellWord;
import io.waybill.cli.show.Table;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** Text of a described operation for a terminal. Stateless. */
final class OperationText {

    private OperationText() {}

    /** Returns what an operation takes, for an error line. */
    static String arguments(OperationDescription description) {
        String all = description.arguments().stream()
                .map(each -> each.name() + " (" + type(each) + ")")
                .collect(Collectors.joining(", "));
        return Printable.oneLine(description.name() + " takes " + (all.isEmpty() ? "no arguments" : all));
    }

    /** Prints everything about an operation of a worker. */
    static void print(PrintWriter out, String worker, OperationInfo operation) {
        out.println(Printable.oneLine(
                operation.name() + " on " + worker + ", by " + operation.provider() + " " + operation.version()));
        if (operation.description().isEmpty()) {
            out.println("It has no description.");
            return;
        }
        OperationDescription description = operation.description().get();
        out.println(Printable.oneLine(description.summary()));
        print(out, "ARGUMENT", description.arguments());
        print(out, "RESULT", description.result());
        out.println();
        out.println("waybill call --to " + ShellWord.quoted(worker) + " " + ShellWord.quoted(operation.name())
                + description.arguments().stream()
                        .map(each -> " " + Printable.oneLine(word(each)))
                        .collect(Collectors.joining()));
    }

    private static void print(PrintWriter out, String heading, List<OperationDescription.Field> fields) {
        if (fields.isEmpty()) {
            return;
        }
        out.println();
        Table table = new Table(heading, "TYPE", "MEANING");
        fields.forEach(each -> table.row(each.name(), type(each), each.text().isEmpty() ? "-" : each.text()));
        table.print(out);
    }

    private static String type(OperationDescription.Field field) {
        String type = field.type().name().toLowerCase(Locale.ROOT);
        return field.optional() ? type + ", optional" : type;
    }

    /** Returns an argument as it is written in a call. */
    private static String word(OperationDescription.Field field) {
        String sign = field.type() == FieldType.TEXT ? "=" : field.type() == FieldType.TENSOR ? "=@" : ":=";
        String value =
                field.type() == FieldType.TENSOR ? "FILE.npy" : field.type().name();
        String word = ShellWord.quoted(field.name()) + sign + value;
        return field.optional() ? "[" + word + "]" : word;
    }
}
