package io.waybill.cli;

import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.cli.show.ShownTime;
import io.waybill.cli.show.Table;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;

/** Tables of {@code waybill bundle} from a node's responses, and their fields. */
final class BundleTables {

    private BundleTables() {}

    static void bundles(PrintWriter out, Response response) {
        Value bundles = response.value("bundles");
        Table table = new Table("NAME", "VERSION", "KIND", "STATE", "SINCE", "STUCK", "FAILURES", "POLICY", "PROBLEM");
        for (Value bundle : items(bundles)) {
            table.row(
                    text(bundle, "name"),
                    text(bundle, "version"),
                    text(bundle, "kind").toLowerCase(Locale.ROOT),
                    text(bundle, "state").toLowerCase(Locale.ROOT),
                    since(bundle),
                    text(bundle, "stuck"),
                    text(bundle, "failures"),
                    text(bundle, "policy").toLowerCase(Locale.ROOT),
                    text(bundle, "problem"));
        }
        table.print(out);
        if (response.value("running") instanceof Value.Dict running) {
            out.println("runs since " + since(running) + ": " + text(running, "operation"));
        }
        for (Value file : items(response.value("refused"))) {
            out.println("not taken: " + text(file, "path") + ": " + text(file, "problem"));
        }
        for (Value policy : items(response.value("absentPolicies"))) {
            out.println("requests wait, and are refused after the parking limit: the access policy of "
                    + text(policy, "name") + " " + text(policy, "version")
                    + " is away; start its bundle, or uninstall it; if it is in no list, remove its jar"
                    + " and restart the node");
        }
    }

    static void handlers(PrintWriter out, Response response) {
        Value handlers = response.value("handlers");
        Table table = new Table(
                "HANDLES",
                "STATE",
                "BUNDLE",
                "VERSION",
                "DELIVERY",
                "SINCE",
                "IN FLIGHT",
                "PARKED",
                "DONE",
                "FAILED",
                "STUCK");
        for (Value handler : items(handlers)) {
            table.row(
                    text(handler, "key"),
                    text(handler, "state").toLowerCase(Locale.ROOT),
                    text(handler, "provider"),
                    text(handler, "version"),
                    text(handler, "delivery"),
                    since(handler),
                    text(handler, "inFlight"),
                    text(handler, "parked"),
                    text(handler, "done"),
                    text(handler, "failed"),
                    text(handler, "stuck"));
        }
        table.print(out);
    }

    static void scripts(PrintWriter out, Response response) {
        Value scripts = response.value("scripts");
        Table table = new Table("FUNCTION", "SOURCE", "SINCE", "PROBLEM");
        for (Value script : items(scripts)) {
            String source = text(script, "source");
            for (Value function : items(field(script, "functions"))) {
                table.row(function instanceof Value.Text schema ? schema.value() : "-", source, since(script), "-");
            }
            String problem = text(script, "problem");
            if (!problem.equals("-")) {
                table.row("-", source, since(script), problem);
            }
        }
        table.print(out);
    }

    static List<Value> items(Value list) {
        return list instanceof Value.Items items ? items.values() : List.of();
    }

    static String since(Value fields) {
        Value since = field(fields, "since");
        return since instanceof Value.Int ns && ns.value() > 0 ? ShownTime.seconds(ns.value()) : "-";
    }

    static String text(Value fields, String name) {
        Value value = field(fields, name);
        if (value instanceof Value.Text text) {
            return text.value();
        } else if (value instanceof Value.Int integer) {
            return Long.toString(integer.value());
        }
        return "-";
    }

    static Value field(Value fields, String name) {
        return fields instanceof Value.Dict dict ? dict.entries().get(Value.of(name)) : null;
    }
}
