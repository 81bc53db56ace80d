package io.waybill.cli;

import io.waybill.cli.conformance.CaseResult;
import io.waybill.cli.conformance.CaseResult.Verdict;
import io.waybill.cli.conformance.ConformanceReport;
import io.waybill.cli.conformance.ConformanceRun;
import io.waybill.cli.conformance.Troupe;
import io.waybill.cli.conformance.format.CaseFile;
import io.waybill.cli.conformance.format.FormatException;
import io.waybill.cli.conformance.play.PlayedWorker;
import io.waybill.host.Host;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code waybill conformance}: runs cases that are written as data, and compares what happens with what they expect. */
@Command(
        mixinStandardHelpOptions = true,
        name = "conformance",
        header = "Runs files of conformance cases.",
        description = {
            "",
            "A file of cases names workers, calls between them, and what has to come of each. The workers run as processes of"
                    + " their own in a temporary home, which goes away.",
            ""
        },
        footer = {
            "",
            "Examples:",
            "  waybill conformance conformance/calls.json",
            "  waybill conformance conformance/*.json --only 'test_add n=1' --json",
            "",
            "Exit code: 0 when nothing failed, 1 when a case failed or a file can't be read, 2 for wrong usage."
        })
final class ConformanceCommand implements Callable<Integer> {

    private final Surroundings surroundings;

    @Mixin
    private HomeOption home;

    @Option(names = "--only", paramLabel = "NAME", description = "Runs the cases of these names; may be repeated.")
    private List<String> only = List.of();

    @Option(names = "--json", description = "Prints the results as JSON.")
    private boolean json;

    @Option(names = "--play", hidden = true, description = "Plays a worker, as standard input says.")
    private boolean play;

    @Parameters(arity = "0..*", paramLabel = "FILE", description = "Files of cases.")
    private List<Path> files = List.of();

    ConformanceCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    @Override
    public Integer call() throws IOException, UsageException, CommandFailedException {
        Path distribution = surroundings.requireDistribution();
        if (play) {
            return play(distribution);
        }
        List<CaseFile> read = read();
        Host host = Host.real();
        try (Leftovers leftovers = Leftovers.watch(
                surroundings, TemporaryDirectory.in(surroundings.temporary(), "waybill-conformance-"))) {
            Troupe troupe = new Troupe(
                    distribution,
                    leftovers.directory().resolve("homes"),
                    leftovers.directory().resolve("logs"),
                    surroundings.environment(),
                    leftovers::add);
            ConformanceRun run =
                    new ConformanceRun(troupe, host.clock(), name -> only.isEmpty() || only.contains(name));
            for (CaseFile file : read) {
                run.run(file, this::progress);
            }
            new ConformanceReport(run.results()).print(surroundings.out(), json);
            return run.count(Verdict.FAILED) == 0 ? 0 : ErrorLines.FAILED;
        }
    }

    private int play(Path distribution) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        new PlayedWorker(home.open(surroundings, Host.real()), distribution, Build.version())
                .run(in, surroundings.out());
        return 0;
    }

    private List<CaseFile> read() throws IOException, UsageException, CommandFailedException {
        if (files.isEmpty()) {
            throw new UsageException("Missing required parameter: FILE");
        }
        List<CaseFile> read = new ArrayList<>();
        for (Path file : files) {
            try {
                read.add(CaseFile.read(file));
            } catch (FormatException e) {
                throw new CommandFailedException(e.getMessage(), e);
            }
        }
        return read;
    }

    private void progress(CaseResult result) {
        if (surroundings.watcher() == Surroundings.Watcher.PERSON) {
            surroundings
                    .err()
                    .println(result.verdict().name().toLowerCase(java.util.Locale.ROOT) + "  " + result.name());
            surroundings.err().flush();
        }
    }
}
