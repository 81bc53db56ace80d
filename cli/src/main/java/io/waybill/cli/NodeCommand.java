package io.waybill.cli;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.WorkerInfo;
import io.waybill.cli.command.Build;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.NewHomeOption;
import io.waybill.cli.command.ParsedOption;
import io.waybill.cli.command.StopSignal;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.node.Node;
import io.waybill.cli.node.NodeConf;
import io.waybill.cli.node.NodeSettings;
import io.waybill.cli.node.NodeStop;
import io.waybill.cli.node.Quantities;
import io.waybill.cli.supervise.ExitCodes;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.osgi.jar.ShippedBundles;
import io.waybill.worker.poll.Waiting;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code waybill node}: runs a node until it is stopped. */
@Command(
        mixinStandardHelpOptions = true,
        name = "node",
        header = "Runs a node in the foreground.",
        description = {
            "",
            "Prints 'ready NAME id=ID' on standard output when it serves. SIGTERM, SIGINT or waybill stop lets running calls end and"
                    + " exits with 0, also while it starts.",
            "",
            "What a power cut may take is the setting journal.durability in conf/waybill.properties: process, the default, may lose"
                    + " the last seconds; interval at most the last milliseconds; each nothing whose outcome a caller has.",
            ""
        },
        footer = {
            "",
            "Examples:",
            "  waybill node --name ps0",
            "  waybill node --name ps0 --waiting low-cpu --bundles ./bundles --home /tmp/home"
        })
final class NodeCommand implements Callable<Integer> {

    private static final int RECOMMENDED_JAVA = 25;

    private final Surroundings surroundings;

    @Mixin
    private NewHomeOption home;

    @Option(
            names = "--name",
            required = true,
            paramLabel = "NAME",
            description = "The worker's name, 1 to 127 of A-Z a-z 0-9 - _ :")
    private String name;

    @Option(
            names = "--waiting",
            paramLabel = "MODE",
            converter = WaitingMode.class,
            description = "How its threads wait: spin (a core, lowest latency), balanced (default) or low-cpu.")
    private Waiting waiting;

    @Option(
            names = "--bundles",
            paramLabel = "DIR",
            description =
                    "Bundles that appear here are installed, changed ones updated, removed ones uninstalled. Default: bundles"
                            + " in the worker's own directory.")
    private Path bundles;

    @Option(names = "--conf", paramLabel = "DIR", description = "The settings. Default: conf in the distribution.")
    private Path conf;

    @Option(
            names = "--shipped",
            paramLabel = "NAMES",
            converter = ShippedNames.class,
            description =
                    "Which of the distribution's bundles start: all (default), none, or symbolic names with commas"
                            + " between. Those that the framework needs always start.")
    private ShippedBundles shipped;

    @Option(
            names = "--until-stdin-ends",
            hidden = true,
            description = "Also stops when standard input ends: for a parent process.")
    private boolean untilStdinEnds;

    @Option(
            names = "--supervised",
            hidden = true,
            description =
                    "Of waybill up: also stops when standard input ends; is started again unless it exits with 2 or 3.")
    private boolean supervised;

    private volatile boolean staysStopped; // set by the thread of a control call, read by the thread that runs the node

    NodeCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    /** Parser of {@code --waiting}. */
    static final class WaitingMode extends ParsedOption<Waiting> {
        WaitingMode() {
            super(text -> Quantities.choice(Waiting.class, text));
        }
    }

    /** Parser of {@code --shipped}. */
    static final class ShippedNames extends ParsedOption<ShippedBundles> {
        ShippedNames() {
            super(Quantities::shipped);
        }
    }

    @Override
    public Integer call() throws IOException, CommandFailedException, UsageException {
        try {
            WorkerInfo.requireName(name);
        } catch (IllegalArgumentException e) {
            throw new UsageException(e.getMessage(), e);
        }
        try (StopSignal stop = StopSignal.install()) {
            run(stop);
        }
        return supervised && staysStopped ? ExitCodes.STAYS_STOPPED : 0;
    }

    private void run(StopSignal stop) throws IOException, CommandFailedException, UsageException {
        Path distribution = surroundings.requireDistribution();
        NodeConf settings = settings(distribution);
        requireShipped(settings.settings().shipped(), distribution);
        surroundings.err().println("waybill " + Build.version() + " on Java " + surroundings.java() + recommendation());
        Host host = Host.real();
        if (untilStdinEnds || supervised) {
            stop.onEndOf(System.in, host.threads());
        }
        Home opened = home.open(surroundings, host);
        JoinOptions options = JoinOptions.defaults().withVersion(Build.version());
        Node.Start start = new Node.Start(distribution, Optional.ofNullable(bundles), stop::isAsked);
        try (Node node = Node.start(opened, name, options, settings, start)) {
            node.onStop(then -> begin(then, stop));
            surroundings
                    .out()
                    .println(
                            "ready " + node.info().name() + " id=" + node.info().id());
            surroundings.out().flush();
            node.notStarted()
                    .forEach((jar, why) ->
                            surroundings.err().println(name + " is ready without " + jar.getFileName() + ": " + why));
            node.worker().failure().thenRun(stop::ask);
            stop.await();
            requireWhole(node);
        } catch (CancellationException e) {
            surroundings.err().println("waybill node: " + name + " was stopped before it was ready");
        }
    }

    /**
     * Throws if a chosen bundle is not in the distribution, before the node joins: a restart would fail in the same
     * way.
     */
    private static void requireShipped(ShippedBundles chosen, Path distribution) throws IOException, UsageException {
        try {
            chosen.in(distribution.resolve("bundles"));
        } catch (IllegalArgumentException e) {
            throw new UsageException(e.getMessage(), e);
        }
    }

    private void begin(NodeStop.Then then, StopSignal stop) throws RejectedMessageException {
        if (then == NodeStop.Then.START_AGAIN && !supervised) {
            throw new RejectedMessageException(
                    ErrorCode.REFUSED,
                    name + " is not run by waybill up, and would not be started again: waybill stop " + name
                            + ", then start it as it was started");
        }
        staysStopped = then == NodeStop.Then.STAY_STOPPED;
        stop.ask();
    }

    /** Throws if the node stopped by itself because its journal failed. */
    private static void requireWhole(Node node) throws CommandFailedException {
        if (node.worker().failure().isDone()) {
            throw new CommandFailedException("the journal of " + node.info().name() + " failed: "
                    + node.worker().failure().join().getMessage());
        }
    }

    /** Reads the settings of the directory, and applies the options. */
    private NodeConf settings(Path distribution) throws IOException {
        NodeConf read = conf == null ? NodeConf.read(distribution.resolve("conf")) : NodeConf.readNamed(conf);
        NodeSettings settings = read.settings();
        if (waiting != null) {
            settings = settings.withWorker(
                    settings.worker().toBuilder().waiting(waiting).build());
        }
        if (shipped != null) {
            settings = settings.withShipped(shipped);
        }
        return new NodeConf(read.directory(), settings, read.framework());
    }

    private static String recommendation() {
        int feature = Runtime.version().feature();
        return feature == RECOMMENDED_JAVA
                ? ""
                : " (17 is the oldest that works, " + RECOMMENDED_JAVA + " is recommended)";
    }
}
