package io.waybill.cli;

import io.waybill.api.CallException;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.cli.call.CallingWorker;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.Progress;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.show.ControlJson;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.ShownTime;
import io.waybill.cli.show.Table;
import io.waybill.host.Clock;
import io.waybill.host.Host;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * {@code waybill bundle}: the handler bundles of a node. Each subcommand is one control call; every user of the home
 * may make it.
 */
@Command(
        mixinStandardHelpOptions = true,
        name = "bundle",
        header = "Lists and changes the handler bundles of a node.",
        synopsisSubcommandLabel = "COMMAND",
        footer = {
            "",
            "Examples:",
            "  waybill bundle list --node ps0",
            "  waybill bundle install --node ps0 word-count-1.0.0.jar",
            "  waybill bundle update --node ps0 word-count-1.1.0.jar",
            "  waybill bundle uninstall --node ps0 org.acme.word-count"
        })
final class BundleCommand implements Runnable {

    private static final MessageType CONTROL_CALL = MessageType.of(0x1f0);
    private static final Duration LIMIT = Duration.ofMinutes(2);
    private static final Duration LOOK_LIMIT = Duration.ofSeconds(5);

    private final Surroundings surroundings;

    @picocli.CommandLine.Spec
    private picocli.CommandLine.Model.CommandSpec spec;

    BundleCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    @Override
    public void run() {
        throw new picocli.CommandLine.ParameterException(
                spec.commandLine(), "Missing subcommand: list, install, update, start, stop or uninstall");
    }

    /** Options of every subcommand. */
    static final class Target {
        @Mixin
        private HomeOption home;

        @Option(
                names = "--node",
                required = true,
                paramLabel = "NAME",
                description = "The node whose bundles are meant.")
        private String node;

        @Option(names = "--json", description = "Prints JSON.")
        private boolean json;
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "list",
            header = "Lists a node's bundles, what they handle, or the functions of scripts.",
            footer = {
                "",
                "Examples:",
                "  waybill bundle list --node ps0 --handlers",
                "  waybill bundle list --node ps0 --scripts"
            })
    int list(
            @Mixin Target target,
            @Option(
                            names = "--handlers",
                            description =
                                    "Lists who handles what instead: since when, in flight, parked, done, failed, stuck.")
                    boolean handlers,
            @Option(
                            names = "--scripts",
                            description =
                                    "Lists the functions of scripts instead: where each comes from, and what is wrong with"
                                            + " scripts that are not served.")
                    boolean scripts)
            throws IOException {
        if (scripts) {
            control(target, "scripts.list", Map.of(), this::printScripts);
        } else if (handlers) {
            control(target, "handlers.list", Map.of(), this::printHandlers);
        } else {
            control(target, "bundle.list", Map.of(), this::printBundles);
        }
        return 0;
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "install",
            header = "Installs a bundle and starts it.",
            description =
                    "A bundle that lacks a package, a service or a configuration is installed and waits for it. The command"
                            + " says so and exits with 1.",
            footer = {"", "Example:", "  waybill bundle install --node ps0 word-count-1.0.0.jar"})
    int install(@Mixin Target target, @Parameters(paramLabel = "FILE.jar", description = "The bundle.") Path jar)
            throws IOException, CommandFailedException {
        change(target, "bundle.install", Map.of("path", path(jar)));
        return 0;
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "update",
            header = "Replaces a bundle by another version while calls go on.",
            description = "The bundle is told by the symbolic name in the jar, unless --name says otherwise.",
            footer = {"", "Example:", "  waybill bundle update --node ps0 word-count-1.1.0.jar"})
    int update(
            @Mixin Target target,
            @Option(
                            names = "--name",
                            paramLabel = "BUNDLE",
                            description = "The symbolic name of the bundle to replace.")
                    String name,
            @Parameters(paramLabel = "FILE.jar", description = "The other version.") Path jar)
            throws IOException, CommandFailedException {
        Map<String, Value> fields = new LinkedHashMap<>();
        fields.put("path", path(jar));
        if (name != null) {
            fields.put("name", Value.of(name));
        }
        change(target, "bundle.update", fields);
        return 0;
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "start",
            header = "Starts a bundle that was stopped.",
            footer = {"", "Example:", "  waybill bundle start --node ps0 org.acme.word-count"})
    int start(@Mixin Target target, @Parameters(paramLabel = "BUNDLE", description = "Its symbolic name.") String name)
            throws IOException, CommandFailedException {
        change(target, "bundle.start", Map.of("name", Value.of(name)));
        return 0;
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "stop",
            header = "Stops a bundle; calls to it wait for it for a while.",
            footer = {"", "Example:", "  waybill bundle stop --node ps0 org.acme.word-count"})
    int stop(@Mixin Target target, @Parameters(paramLabel = "BUNDLE", description = "Its symbolic name.") String name)
            throws IOException {
        control(target, "bundle.stop", Map.of("name", Value.of(name)), this::printBundle);
        return 0;
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "uninstall",
            header = "Removes a bundle.",
            footer = {"", "Example:", "  waybill bundle uninstall --node ps0 org.acme.word-count"})
    int uninstall(
            @Mixin Target target, @Parameters(paramLabel = "BUNDLE", description = "Its symbolic name.") String name)
            throws IOException {
        control(target, "bundle.uninstall", Map.of("name", Value.of(name)), this::printRemoved);
        return 0;
    }

    private interface Printer {
        void print(Response response);
    }

    /** Makes a change that ends with a bundle that runs, unless it was stopped. */
    private void change(Target target, String operation, Map<String, Value> fields)
            throws IOException, CommandFailedException {
        Value bundle = field(control(target, operation, fields, this::printBundle), "bundle");
        if (isWaiting(bundle)) {
            throw new CommandFailedException(text(bundle, "name") + " " + text(bundle, "version")
                    + " is installed and waits: " + text(bundle, "problem")
                    + "; it starts when that is there, or waybill"
                    + " bundle uninstall " + text(bundle, "name") + " removes it");
        }
    }

    private static boolean isWaiting(Value bundle) {
        return text(bundle, "state").equals("WAITING");
    }

    private Value control(Target target, String operation, Map<String, Value> fields, Printer printer)
            throws IOException {
        Host host = Host.real();
        Invocation invocation = new Invocation(operation, List.of(), fields);
        Request request =
                Request.invocation(target.node, CONTROL_CALL, invocation).timeout(LIMIT);
        String what = "waiting for " + target.node + ": " + operation;
        long begunNs = host.clock().wallNs();
        try (CallingWorker caller = CallingWorker.join(target.home.openExisting(surroundings, host));
                Response response = Progress.during(
                        surroundings,
                        host.threads(),
                        what,
                        () -> running(caller, target.node, begunNs, host.clock()),
                        () -> caller.call(request))) {
            if (target.json) {
                Json.print(surroundings.out(), json -> ControlJson.write(response.value(), json));
            } else {
                printer.print(response);
            }
            return response.value();
        }
    }

    /** Returns the operation that the node runs since before this one was requested: it runs one at a time. */
    private static Optional<String> running(CallingWorker caller, String node, long begunNs, Clock clock) {
        Request list = Request.invocation(node, CONTROL_CALL, new Invocation("bundle.list", List.of(), Map.of()))
                .timeout(LOOK_LIMIT);
        try (Response response = caller.call(list)) {
            Value running = response.value("running");
            return field(running, "since") instanceof Value.Int since && since.value() < begunNs
                    ? Optional.of(text(running, "operation") + ", which runs for "
                            + TimeUnit.NANOSECONDS.toSeconds(clock.wallNs() - since.value()) + " s")
                    : Optional.empty();
        } catch (CallException e) {
            return Optional.empty(); // the operation itself shows the problem
        }
    }

    private static Value path(Path jar) throws CommandFailedException {
        Path absolute = jar.toAbsolutePath().normalize();
        if (!Files.isRegularFile(absolute)) {
            throw new CommandFailedException("no file " + absolute + "; give the path of a bundle's jar");
        }
        return Value.of(absolute.toString());
    }

    private void printBundle(Response response) {
        Value bundle = response.value("bundle");
        if (isWaiting(bundle)) { // the command fails with it
            return;
        }
        String problem = text(bundle, "problem");
        surroundings
                .out()
                .println(text(bundle, "name") + " " + text(bundle, "version") + " "
                        + text(bundle, "state").toLowerCase(Locale.ROOT)
                        + (text(bundle, "replaced").equals("-") ? "" : ", in place of " + text(bundle, "replaced"))
                        + (problem.equals("-") ? "" : ": " + problem) + stopped(bundle));
    }

    /** Says which other bundles lack now what the operation took. */
    private static String stopped(Value bundle) {
        List<String> names = items(field(bundle, "stopped")).stream()
                .map(name -> name instanceof Value.Text text ? text.value() : "-")
                .toList();
        return names.isEmpty() ? "" : "; these need what it provided, and wait: " + String.join(", ", names);
    }

    private void printRemoved(Response response) {
        Value bundle = response.value("bundle");
        String problem = text(bundle, "problem");
        surroundings
                .out()
                .println(text(bundle, "name") + " " + text(bundle, "version") + " removed"
                        + (problem.equals("-") ? "" : ": " + problem) + stopped(bundle));
    }

    private void printBundles(Response response) {
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
        table.print(surroundings.out());
        if (response.value("running") instanceof Value.Dict running) {
            surroundings.out().println("runs since " + since(running) + ": " + text(running, "operation"));
        }
        for (Value file : items(response.value("refused"))) {
            surroundings.out().println("not taken: " + text(file, "path") + ": " + text(file, "problem"));
        }
        for (Value policy : items(response.value("absentPolicies"))) {
            surroundings
                    .out()
                    .println("requests wait, and are refused after the parking limit: the access policy of "
                            + text(policy, "name") + " " + text(policy, "version")
                            + " is away; start its bundle, or uninstall it; if it is in no list, remove its jar"
                            + " and restart the node");
        }
    }

    private void printHandlers(Response response) {
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
        table.print(surroundings.out());
    }

    private void printScripts(Response response) {
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
        table.print(surroundings.out());
    }

    private static List<Value> items(Value list) {
        return list instanceof Value.Items items ? items.values() : List.of();
    }

    private static String since(Value fields) {
        Value since = field(fields, "since");
        return since instanceof Value.Int ns && ns.value() > 0 ? ShownTime.seconds(ns.value()) : "-";
    }

    private static String text(Value fields, String name) {
        Value value = field(fields, name);
        if (value instanceof Value.Text text) {
            return text.value();
        } else if (value instanceof Value.Int integer) {
            return Long.toString(integer.value());
        }
        return "-";
    }

    private static Value field(Value fields, String name) {
        return fields instanceof Value.Dict dict ? dict.entries().get(Value.of(name)) : null;
    }
}
