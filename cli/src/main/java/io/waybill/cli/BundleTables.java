package io.waybill.cli;

import io.waybill.api.admin.BundleInfo;
import io.waybill.api.admin.BundleList;
import io.waybill.api.admin.HandlerInfo;
import io.waybill.api.admin.ScriptInfo;
import io.waybill.cli.show.ShownTime;
import io.waybill.cli.show.Table;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;

/** Tables of {@code waybill bundle}. */
final class BundleTables {

    private BundleTables() {}

    static void bundles(PrintWriter out, BundleList list) {
        Table table = new Table(
                "NAME",
                "VERSION",
                "KIND",
                "STATE",
                "SINCE",
                "SHARE",
                "DONE",
                "FAILED",
                "STUCK",
                "FAILURES",
                "POLICY",
                "PROBLEM");
        for (BundleInfo bundle : list.bundles()) {
            table.row(
                    bundle.name(),
                    bundle.version(),
                    lowerCase(bundle.kind()),
                    lowerCase(bundle.state()),
                    bundle.since().map(ShownTime::seconds).orElse("-"),
                    bundle.share().orElse("-"),
                    bundle.done(),
                    bundle.failed(),
                    bundle.stuck(),
                    bundle.failures(),
                    bundle.policy().map(BundleTables::lowerCase).orElse("-"),
                    bundle.problem().orElse("-"));
        }
        table.print(out);
        list.running()
                .ifPresent(running ->
                        out.println("runs since " + ShownTime.seconds(running.since()) + ": " + running.operation()));
        list.refused().forEach(jar -> out.println("not taken: " + jar.path() + ": " + jar.problem()));
        for (BundleList.AbsentPolicy policy : list.absentPolicies()) {
            out.println("requests wait, and are refused after the parking limit: the access policy of "
                    + policy.name() + " " + policy.version()
                    + " is away; start its bundle, or uninstall it; if it is in no list, remove its jar"
                    + " and restart the node");
        }
    }

    static void handlers(PrintWriter out, List<HandlerInfo> handlers) {
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
        for (HandlerInfo handler : handlers) {
            table.row(
                    handler.key(),
                    lowerCase(handler.state()),
                    handler.provider(),
                    handler.version(),
                    handler.delivery(),
                    ShownTime.seconds(handler.since()),
                    handler.inFlight(),
                    handler.parked(),
                    handler.done(),
                    handler.failed(),
                    handler.stuck());
        }
        table.print(out);
    }

    static void scripts(PrintWriter out, List<ScriptInfo> scripts) {
        Table table = new Table("FUNCTION", "SOURCE", "SINCE", "PROBLEM");
        for (ScriptInfo script : scripts) {
            String since = ShownTime.seconds(script.since());
            script.functions().forEach(schema -> table.row(schema, script.source(), since, "-"));
            script.problem().ifPresent(problem -> table.row("-", script.source(), since, problem));
        }
        table.print(out);
    }

    private static String lowerCase(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }
}
