package io.waybill.cli;

import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.NewHomeOption;
import io.waybill.cli.command.StopSignal;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.node.NodeConf;
import io.waybill.cli.supervise.EventLines;
import io.waybill.cli.supervise.NodePlan;
import io.waybill.cli.supervise.NodesFile;
import io.waybill.cli.supervise.Supervisor;
import io.waybill.home.Home;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.WorkerRecord;
import io.waybill.host.Host;
import io.waybill.host.Processes;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code waybill up}: runs the nodes that a file lists, and restarts those that die. */
@Command(
        mixinStandardHelpOptions = true,
        name = "up",
        header = "Runs the nodes that a file names, and restarts those that die.",
        description = {
            "",
            "Stays in the foreground and prints a line for each event of a node; what nodes log goes to standard error under"
                    + " their names. SIGTERM or SIGINT stops all nodes and exits with 0. waybill stop NODE stops one, and waybill restart NODE restarts it.",
            ""
        },
        footer = {"", "Examples:", "  waybill up", "  waybill up --nodes /etc/waybill/nodes.properties --json"})
final class UpCommand implements Callable<Integer> {

    /** Limit that exceeds the nodes' own. */
    private static final Duration STOP_LIMIT = Supervisor.STOP_LIMIT.plusSeconds(15);

    private final Surroundings surroundings;

    @Mixin
    private NewHomeOption home;

    @Option(
            names = "--nodes",
            paramLabel = "FILE",
            description = "Which nodes run. Default: conf/nodes.properties in the distribution.")
    private Path nodes;

    @Option(names = "--json", description = "Prints each event as a line of JSON.")
    private boolean json;

    UpCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    @Override
    public Integer call() throws IOException, CommandFailedException, UsageException {
        try (StopSignal stop = StopSignal.install(STOP_LIMIT)) {
            run(stop);
        }
        return 0;
    }

    private void run(StopSignal stop) throws IOException, CommandFailedException, UsageException {
        Path distribution = surroundings.requireDistribution();
        Path file = nodes == null ? distribution.resolve("conf").resolve("nodes.properties") : nodes;
        NodesFile plans = NodesFile.read(file);
        for (NodePlan plan : plans.nodes()) {
            NodeConf.readNamed(plan.conf()); // reports an error once, and not at every start of a node
        }
        Host host = Host.real();
        Home opened = home.open(surroundings, host);
        requireNotRunning(opened, plans);
        Path directory = home.home().path(surroundings).toAbsolutePath();
        EventLines events = new EventLines(
                surroundings.out(), surroundings.err(), json ? EventLines.Form.JSON : EventLines.Form.TEXT);
        List<String> crowded = Processes.crowdOptions(
                plans.nodes().size(),
                Runtime.getRuntime().availableProcessors(),
                ManagementFactory.getRuntimeMXBean().getInputArguments());
        boolean isNoneUsable;
        try (Supervisor supervisor = new Supervisor(host.threads())) {
            if (stop.isAsked()) {
                return;
            }
            supervisor.start(
                    plans,
                    plan -> plan.process(distribution, directory, surroundings.environment(), crowded),
                    events,
                    stop::ask);
            stop.await();
            isNoneUsable = !supervisor.isAnyLeft() && supervisor.givenUp() > 0;
        }
        if (isNoneUsable) {
            throw new CommandFailedException(
                    "no node is left to run: those that were not stopped were started wrongly; see what was said of each");
        }
    }

    private static void requireNotRunning(Home home, NodesFile plans) throws IOException, CommandFailedException {
        List<String> there = new ArrayList<>();
        try (Membership membership = Membership.present(home)) {
            membership.refresh();
            for (NodePlan plan : plans.nodes()) {
                Optional<Peer> peer = membership.find(plan.name());
                if (peer.isPresent() && peer.get().state().isThere()) {
                    there.add(plan.name() + pid(peer.get()));
                }
            }
        }
        if (!there.isEmpty()) {
            throw new CommandFailedException(there.stream().collect(Collectors.joining(", ")) + " of " + home.path()
                    + (there.size() == 1 ? " runs" : " run")
                    + " already: another waybill up has them, or they were started by hand; stop them first. Those of a"
                    + " waybill up that was killed end by themselves");
        }
    }

    private static String pid(Peer peer) {
        return peer.record()
                .map(WorkerRecord::process)
                .map(process -> " (pid " + process.pid() + ")")
                .orElse("");
    }
}
