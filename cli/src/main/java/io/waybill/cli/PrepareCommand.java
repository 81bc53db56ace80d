package io.waybill.cli;

import io.waybill.api.MessageId;
import io.waybill.cli.command.Build;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.ExitCleanup;
import io.waybill.cli.command.ScratchDirectory;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.node.Node;
import io.waybill.cli.node.NodeConf;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.query.HomeJournals;
import io.waybill.query.MessageFilter;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;

/**
 * {@code waybill prepare}: runs the work of the usual commands and calling workers in one process, in a temporary home.
 * The launcher makes the JVM archive the loaded classes and, from Java 25 on, the profiles, so that later processes
 * start faster.
 */
@Command(
        mixinStandardHelpOptions = true,
        name = "prepare",
        header = "Makes later commands start faster on this Java; needs permission to write into the distribution.",
        footer = {"", "Example:", "  waybill prepare"})
final class PrepareCommand implements Callable<Integer> {

    private static final String NODE = "prepare";

    private final Surroundings surroundings;

    PrepareCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    @Override
    public Integer call() throws IOException, CommandFailedException {
        Path distribution = surroundings.requireDistribution();
        try (ExitCleanup leftovers = ExitCleanup.watch(surroundings)) {
            ScratchDirectory directory = leftovers.make(() -> {
                ScratchDirectory scratch = ScratchDirectory.in(surroundings.temporary(), "waybill-prepare-");
                leftovers.addDirectory(scratch);
                return scratch;
            });
            Home home = leftovers.make(() -> Home.open(directory.path().resolve("home"), Host.real()));
            NodeConf conf = new NodeConf(
                    directory.path().resolve("conf"),
                    NodeConf.read(distribution.resolve("conf")).settings(),
                    Map.of());
            JoinOptions options = JoinOptions.defaults().withVersion(Build.version());
            try (Node node = Node.start(home, NODE, options, distribution, conf, Optional.empty())) {
                Surroundings silent = silent(home.path());
                run(silent, "workers");
                run(silent, "bundle", "list", "--node", node.info().name());
                run(silent, "call", "--to", NODE, "control:handlers.list", "--json");
                run(silent, "call", "--to", NODE, "aten::add", "[1.0]", "2", "alpha:=1");
                run(silent, "call", "--to", NODE, "aten::ones", "[2, 2]");
                run(silent, "journal", "list");
                for (String id : newest(home)) {
                    run(silent, "journal", "show", id);
                }
            }
            TrainingCalls.run(home);
        }
        return 0;
    }

    /** Runs a command to load its classes; the result is irrelevant. */
    private static void run(Surroundings silent, String... args) {
        Commands.run(silent, args);
    }

    private static List<String> newest(Home home) throws IOException {
        List<String> ids = new ArrayList<>();
        try (HomeJournals journals = HomeJournals.open(home)) {
            journals.list(
                    MessageFilter.ALL,
                    1,
                    call -> ids.add(MessageId.text(call.request().id())));
        }
        return ids;
    }

    private Surroundings silent(Path home) {
        PrintWriter nowhere = new PrintWriter(Writer.nullWriter());
        return new Surroundings(
                nowhere,
                nowhere,
                Surroundings.Watcher.PROGRAM,
                home,
                surroundings.distribution(),
                surroundings.temporary(),
                surroundings.java(),
                surroundings.environment());
    }
}
