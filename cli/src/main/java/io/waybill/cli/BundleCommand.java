package io.waybill.cli;

import io.waybill.api.CallException;
import io.waybill.api.admin.Admin;
import io.waybill.api.admin.BundleInfo;
import io.waybill.api.admin.Canary;
import io.waybill.api.admin.HandlerInfo;
import io.waybill.api.admin.ScriptInfo;
import io.waybill.cli.call.CallingWorker;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.Progress;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.show.ControlJson;
import io.waybill.cli.show.Json;
import io.waybill.host.Clock;
import io.waybill.host.Host;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
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
            "  waybill bundle update --node ps0 --canary 5% word-count-1.2.0.jar",
            "  waybill bundle promote --node ps0 org.acme.word-count",
            "  waybill bundle uninstall --node ps0 org.acme.word-count"
        })
final class BundleCommand implements Runnable {

    private static final Duration PROGRESS_LIMIT = Duration.ofSeconds(5);

    private final Surroundings surroundings;

    @picocli.CommandLine.Spec
    private picocli.CommandLine.Model.CommandSpec spec;

    BundleCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    @Override
    public void run() {
        throw new picocli.CommandLine.ParameterException(
                spec.commandLine(),
                "Missing subcommand: list, install, update, promote, rollback, start, stop or uninstall");
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
        PrintWriter out = surroundings.out();
        if (scripts) {
            print(target, "scripts.list", admin -> new Scripts(admin.scripts(target.node)), found -> {
                BundleTables.scripts(out, found.scripts());
            });
        } else if (handlers) {
            print(target, "handlers.list", admin -> new Handlers(admin.handlers(target.node)), found -> {
                BundleTables.handlers(out, found.handlers());
            });
        } else {
            print(target, "bundle.list", admin -> admin.bundles(target.node), found -> {
                BundleTables.bundles(out, found);
            });
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
        Path file = existing(jar);
        change(target, "bundle.install", admin -> admin.install(target.node, file));
        return 0;
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "update",
            header = "Replaces a bundle by another version while calls go on.",
            description = "The bundle is told by the symbolic name in the jar, unless --name says otherwise.",
            footer = {
                "",
                "Examples:",
                "  waybill bundle update --node ps0 word-count-1.1.0.jar",
                "  waybill bundle update --node ps0 --canary 5% --rollback-if 'errors>1%' word-count-1.2.0.jar",
                "  waybill bundle update --node ps0 --canary 'worker=trainer-*' word-count-1.2.0.jar"
            })
    int update(
            @Mixin Target target,
            @Option(
                            names = "--name",
                            paramLabel = "BUNDLE",
                            description = "The symbolic name of the bundle to replace.")
                    String name,
            @Option(
                            names = "--canary",
                            paramLabel = "SHARE",
                            description =
                                    "The requests that the other version gets, beside the running one: 5%%, by message id;"
                                            + " worker=PATTERN, by caller; operation=PATTERN. All that are given apply.")
                    List<String> canary,
            @Option(
                            names = "--rollback-if",
                            paramLabel = "RULE",
                            description =
                                    "Removes a canary by itself: errors>1%%, or errors>1%% of 500 (200 requests).")
                    String rollbackIf,
            @Parameters(paramLabel = "FILE.jar", description = "The other version.") Path jar)
            throws IOException, CommandFailedException, UsageException {
        Path file = existing(jar);
        if (canary != null) {
            Canary settings = CanaryOption.parse(canary, Optional.ofNullable(rollbackIf));
            change(target, "bundle.update", admin -> admin.updateAsCanary(target.node, file, settings));
            return 0;
        }
        if (rollbackIf != null) {
            throw new UsageException("--rollback-if goes with --canary");
        }
        change(
                target,
                "bundle.update",
                admin -> name == null ? admin.update(target.node, file) : admin.update(target.node, name, file));
        return 0;
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "promote",
            header = "Lets the canary of a bundle serve all requests.",
            footer = {"", "Example:", "  waybill bundle promote --node ps0 org.acme.word-count"})
    int promote(
            @Mixin Target target, @Parameters(paramLabel = "BUNDLE", description = "Its symbolic name.") String name)
            throws IOException, CommandFailedException {
        change(target, "bundle.promote", admin -> admin.promote(target.node, name));
        return 0;
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "rollback",
            header = "Removes the canary of a bundle.",
            footer = {"", "Example:", "  waybill bundle rollback --node ps0 org.acme.word-count"})
    int rollback(
            @Mixin Target target, @Parameters(paramLabel = "BUNDLE", description = "Its symbolic name.") String name)
            throws IOException {
        change(target, "bundle.rollback", admin -> admin.rollBack(target.node, name), this::printBundle);
        return 0;
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "start",
            header = "Starts a bundle that was stopped.",
            footer = {"", "Example:", "  waybill bundle start --node ps0 org.acme.word-count"})
    int start(@Mixin Target target, @Parameters(paramLabel = "BUNDLE", description = "Its symbolic name.") String name)
            throws IOException, CommandFailedException {
        change(target, "bundle.start", admin -> admin.start(target.node, name));
        return 0;
    }

    @Command(
            mixinStandardHelpOptions = true,
            name = "stop",
            header = "Stops a bundle; calls to it wait for it for a while.",
            footer = {"", "Example:", "  waybill bundle stop --node ps0 org.acme.word-count"})
    int stop(@Mixin Target target, @Parameters(paramLabel = "BUNDLE", description = "Its symbolic name.") String name)
            throws IOException {
        change(target, "bundle.stop", admin -> admin.stop(target.node, name), this::printBundle);
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
        change(target, "bundle.uninstall", admin -> admin.uninstall(target.node, name), this::printRemoved);
        return 0;
    }

    private record Handlers(List<HandlerInfo> handlers) {}

    private record Scripts(List<ScriptInfo> scripts) {}

    private record Changed(BundleInfo bundle) {}

    /** Runs a change after which the bundle runs, unless it was stopped. */
    private void change(Target target, String operation, Function<Admin, BundleInfo> change)
            throws IOException, CommandFailedException {
        BundleInfo bundle = change(target, operation, change, this::printBundle);
        if (isWaiting(bundle)) {
            throw new CommandFailedException(named(bundle) + " is installed and waits: "
                    + bundle.problem().orElse("-") + "; it starts when that is there, or waybill bundle uninstall "
                    + bundle.name() + " removes it");
        }
    }

    private BundleInfo change(
            Target target, String operation, Function<Admin, BundleInfo> change, Consumer<BundleInfo> printer)
            throws IOException {
        return print(
                        target,
                        operation,
                        admin -> new Changed(change.apply(admin)),
                        changed -> printer.accept(changed.bundle()))
                .bundle();
    }

    private static boolean isWaiting(BundleInfo bundle) {
        return bundle.state() == BundleInfo.State.WAITING;
    }

    private static String named(BundleInfo bundle) {
        return bundle.name() + " " + bundle.version();
    }

    /** Makes a control call, and prints its result as JSON or by the printer. */
    private <T extends Record> T print(Target target, String operation, Function<Admin, T> call, Consumer<T> printer)
            throws IOException {
        Host host = Host.real();
        String what = "waiting for " + target.node + ": " + operation;
        Instant begun = now(host.clock());
        try (CallingWorker caller = CallingWorker.join(target.home.openExisting(surroundings, host))) {
            Admin admin = Admin.of(caller.worker());
            T result = Progress.during(
                    surroundings,
                    host.threads(),
                    what,
                    () -> running(admin.withLimit(PROGRESS_LIMIT), target.node, begun, host.clock()),
                    () -> call.apply(admin));
            if (target.json) {
                Json.print(surroundings.out(), json -> ControlJson.write(result, json));
            } else {
                printer.accept(result);
            }
            return result;
        }
    }

    /** Returns the operation that delays this one: the node runs one at a time, and began it earlier. */
    private static Optional<String> running(Admin admin, String node, Instant begun, Clock clock) {
        try {
            return admin.bundles(node)
                    .running()
                    .filter(running -> running.since().isBefore(begun))
                    .map(running -> running.operation() + ", which runs for "
                            + Duration.between(running.since(), now(clock)).toSeconds() + " s");
        } catch (CallException e) {
            return Optional.empty(); // the operation itself reports the problem
        }
    }

    private static Instant now(Clock clock) {
        return Instant.ofEpochSecond(0, clock.wallNs());
    }

    private static Path existing(Path jar) throws CommandFailedException {
        Path absolute = jar.toAbsolutePath().normalize();
        if (!Files.isRegularFile(absolute)) {
            throw new CommandFailedException("no file " + absolute + "; give the path of a bundle's jar");
        }
        return absolute;
    }

    private void printBundle(BundleInfo bundle) {
        if (!isWaiting(bundle)) { // otherwise the command fails for the same reason
            surroundings
                    .out()
                    .println(named(bundle) + " " + bundle.state().name().toLowerCase(Locale.ROOT)
                            + bundle.share().map(share -> ", gets " + share).orElse("")
                            + bundle.replaced()
                                    .map(version -> ", in place of " + version)
                                    .orElse("")
                            + problemOf(bundle));
        }
    }

    private void printRemoved(BundleInfo bundle) {
        surroundings.out().println(named(bundle) + " removed" + problemOf(bundle));
    }

    /** Describes the bundle's problem, and the other bundles whose dependencies the operation removed. */
    private static String problemOf(BundleInfo bundle) {
        String others = bundle.stopped().isEmpty()
                ? ""
                : "; these need what it provided, and wait: " + String.join(", ", bundle.stopped());
        return bundle.problem().map(problem -> ": " + problem).orElse("") + others;
    }
}
