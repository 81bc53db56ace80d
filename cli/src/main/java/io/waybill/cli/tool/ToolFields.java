package io.waybill.cli.tool;

import io.waybill.api.Value;
import java.util.List;

/**
 * Reads the fields of a response from another process; missing fields and fields of another kind are empty. Stateless.
 */
final class ToolFields {

    private ToolFields() {}

    static Value of(Value fields, String name) {
        Value found = fields instanceof Value.Dict dict ? dict.entries().get(Value.of(name)) : null;
        return found == null ? Value.NONE : found;
    }

    static String text(Value fields, String name) {
        return of(fields, name) instanceof Value.Text text ? text.value() : "";
    }

    static long number(Value fields, String name) {
        return of(fields, name) instanceof Value.Int number ? number.value() : 0;
    }

    static boolean isTrue(Value fields, String name) {
        return of(fields, name) instanceof Value.Bool bool && bool.value();
    }

    static List<Value> items(Value fields, String name) {
        return of(fields, name) instanceof Value.Items items ? items.values() : List.of();
    }
}
