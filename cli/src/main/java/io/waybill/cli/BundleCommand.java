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
            control(target, "scripts.list", Map.of(), response -> BundleTables.scripts(surroundings.out(), response));
        } else if (handlers) {
            control(target, "handlers.list", Map.of(), response -> BundleTables.handlers(surroundings.out(), response));
        } else {
            control(target, "bundle.list", Map.of(), response -> BundleTables.bundles(surroundings.out(), response));
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

    /** Runs a change after which the bundle runs, unless it was stopped. */
    private void change(Target target, String operation, Map<String, Value> fields)
            throws IOException, CommandFailedException {
        Value bundle = BundleTables.field(control(target, operation, fields, this::printBundle), "bundle");
        if (isWaiting(bundle)) {
            throw new CommandFailedException(
                    BundleTables.text(bundle, "name") + " " + BundleTables.text(bundle, "version")
                            + " is installed and waits: " + BundleTables.text(bundle, "problem")
                            + "; it starts when that is there, or waybill"
                            + " bundle uninstall " + BundleTables.text(bundle, "name") + " removes it");
        }
    }

    private static boolean isWaiting(Value bundle) {
        return BundleTables.text(bundle, "state").equals("WAITING");
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

    /** Returns the operation that delays this one: the node runs one at a time, and began it earlier. */
    private static Optional<String> running(CallingWorker caller, String node, long begunNs, Clock clock) {
        Request list = Request.invocation(node, CONTROL_CALL, new Invocation("bundle.list", List.of(), Map.of()))
                .timeout(LOOK_LIMIT);
        try (Response response = caller.call(list)) {
            Value running = response.value("running");
            return BundleTables.field(running, "since") instanceof Value.Int since && since.value() < begunNs
                    ? Optional.of(BundleTables.text(running, "operation") + ", which runs for "
                            + TimeUnit.NANOSECONDS.toSeconds(clock.wallNs() - since.value()) + " s")
                    : Optional.empty();
        } catch (CallException e) {
            return Optional.empty(); // the operation itself reports the problem
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
        if (isWaiting(bundle)) { // the command fails for the same reason
            return;
        }
        String problem = BundleTables.text(bundle, "problem");
        surroundings
                .out()
                .println(BundleTables.text(bundle, "name") + " " + BundleTables.text(bundle, "version") + " "
                        + BundleTables.text(bundle, "state").toLowerCase(Locale.ROOT)
                        + (BundleTables.text(bundle, "replaced").equals("-")
                                ? ""
                                : ", in place of " + BundleTables.text(bundle, "replaced"))
                        + (problem.equals("-") ? "" : ": " + problem) + stopped(bundle));
    }

    /** Describes the other bundles whose dependencies the operation removed. */
    private static String stopped(Value bundle) {
        List<String> names = BundleTables.items(BundleTables.field(bundle, "stopped")).stream()
                .map(name -> name instanceof Value.Text text ? text.value() : "-")
                .toList();
        return names.isEmpty() ? "" : "; these need what it provided, and wait: " + String.join(", ", names);
    }

    private void printRemoved(Response response) {
        Value bundle = response.value("bundle");
        String problem = BundleTables.text(bundle, "problem");
        surroundings
                .out()
                .println(BundleTables.text(bundle, "name") + " " + BundleTables.text(bundle, "version") + " removed"
                        + (problem.equals("-") ? "" : ": " + problem) + stopped(bundle));
    }
}
