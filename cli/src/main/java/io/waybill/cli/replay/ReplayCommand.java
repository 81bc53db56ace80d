package io.waybill.cli.replay;

import io.waybill.api.WorkerInfo;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.DurationOption;
import io.waybill.cli.command.Progress;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.node.Node;
import io.waybill.cli.node.NodeConf;
import io.waybill.cli.select.SourceOptions;
import io.waybill.host.Host;
import io.waybill.replay.NodeDistribution;
import io.waybill.replay.Replay;
import io.waybill.replay.ReplayReport;
import io.waybill.replay.recording.CallRecording;
import io.waybill.replay.run.ReplayPace;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code waybill replay}: runs recorded calls again. */
@Command(
        mixinStandardHelpOptions = true,
        name = "replay",
        header = "Runs recorded calls again, and compares the responses with those on record.",
        description = {
            "",
            "Gives recorded calls to the handlers that their worker had, or to a candidate, in a framework of its own. What handlers"
                    + " call gets its response from the record: nothing is sent, and nothing is written into the home.",
            "",
            "Exits with 0 when every response is the same, with 1 when one is not or nothing was selected.",
            ""
        },
        footer = {
            "",
            "Examples:",
            "  waybill replay --to ps0",
            "  waybill replay --operation text.count --bundle word-count-1.1.0.jar",
            "  waybill replay --bundle a.jar --bundle b.jar --compare tolerance --rtol 1e-4",
            "  waybill replay --id 3.1041 --times 100",
            "  waybill replay --slice counts.slice --report not-same.jsonl"
        })
public final class ReplayCommand implements Callable<Integer> {

    private static final int SHOWN = 20;
    private static final String PYTHON_SCRIPT =
            "waybill.python.script"; // property of the framework, for the bundle io.waybill.python

    private final Surroundings surroundings;

    @Mixin
    private SourceOptions source;

    @Mixin
    private CallSelection selection;

    @Option(
            names = "--bundle",
            paramLabel = "FILE",
            description =
                    "A candidate, in the place of the bundle with its symbolic name. May be repeated: each is run by itself.")
    private List<Path> bundles = List.of();

    @Option(
            names = "--python",
            paramLabel = "FILE",
            description =
                    "The Python program that served the calls. It is imported, and its functions and operations serve them once more.")
    private Path python;

    @Mixin
    private ComparisonOptions comparison;

    @Option(
            names = "--report",
            paramLabel = "FILE",
            description = "Writes every call that is not the same into a file, a line of JSON for each.")
    private Path report;

    @Option(
            names = "--trace-out",
            paramLabel = "FILE",
            description = "Writes each run as a span, with a link to the recorded call's, into a file of OTLP's JSON.")
    private Path traceOut;

    @Option(names = "--json", description = "Prints the report as JSON.")
    private boolean json;

    @Option(
            names = "--times",
            paramLabel = "N",
            defaultValue = "1",
            description = "Runs each call so often. Default: ${DEFAULT-VALUE}.")
    private int times;

    @Option(
            names = "--pace",
            paramLabel = "PACE",
            defaultValue = "fast",
            description =
                    "fast (default), original (the recorded distances), or step (a line on standard input before each call).")
    private String pace;

    @Option(
            names = "--alone",
            description =
                    "Runs the selected calls only. Otherwise all that their worker began before them run as well, and are not"
                            + " compared: they may have left what its handlers remember.")
    private boolean alone;

    @Option(
            names = "--limit",
            paramLabel = "TIME",
            converter = DurationOption.class,
            description = "How long one call may take, such as 10s; 0 for no limit. Default: 60s.")
    private Duration limit;

    @Option(
            names = "--conf",
            paramLabel = "DIR",
            description = "The settings of bundles. Default: conf in the distribution.")
    private Path conf;

    public ReplayCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    @Override
    public Integer call() throws IOException, UsageException, CommandFailedException {
        Host host = Host.real();
        Path path = source.path(surroundings);
        List<WorkerInfo> workers = workers(path, host);
        RepeatCommand again = new RepeatCommand(again(path));
        try (PrintWriter lines = lines();
                ReplayTrace trace =
                        new ReplayTrace(writer(traceOut), host.clock().wallNs())) {
            NotSameCalls calls = new NotSameCalls(new CallText(id -> nameOf(id, workers), again::of), SHOWN, lines);
            ReplayReport found = run(replay(path, workers, host), calls, trace, host);
            if (json) {
                ReportJson.print(found, calls, surroundings.out());
            } else {
                new ReportText(found, surroundings.out()).print(path.toString(), comparison.manner(), calls);
            }
            if (lines.checkError()) {
                throw new IOException("can't write " + report);
            }
            return found.isAllSame() ? 0 : 1;
        }
    }

    private static List<WorkerInfo> workers(Path path, Host host) throws IOException {
        try (CallRecording recording = Replay.open(path, host)) {
            return recording.workers();
        }
    }

    private static String nameOf(int id, List<WorkerInfo> workers) {
        return workers.stream()
                .filter(worker -> worker.id() == id)
                .map(WorkerInfo::name)
                .findFirst()
                .orElse(Integer.toString(id));
    }

    private PrintWriter lines() throws IOException {
        return new PrintWriter(writer(report));
    }

    private static Writer writer(Path file) throws IOException {
        return file == null ? Writer.nullWriter() : Files.newBufferedWriter(file, StandardCharsets.UTF_8);
    }

    private Replay replay(Path path, List<WorkerInfo> workers, Host host)
            throws IOException, UsageException, CommandFailedException {
        if (times < 1) {
            throw new UsageException("--times must be 1 or more: " + times);
        }
        Replay replay = Replay.of(path)
                .on(host)
                .in(distribution())
                .select(selection.filter(workers, host.clock()))
                .compare(comparison.comparison())
                .pace(pace(host))
                .times(times);
        Optional<WorkerInfo> worker = selection.worker(workers);
        if (worker.isPresent()) {
            replay.worker(worker.get().name());
        }
        if (alone) {
            replay.alone();
        }
        for (Path bundle : bundles) {
            requireFile(bundle);
            replay.with(bundle);
        }
        return limit == null ? replay : replay.limit(limit);
    }

    private static void requireFile(Path bundle) throws CommandFailedException {
        if (!Files.isRegularFile(bundle)) {
            throw new CommandFailedException("no bundle at " + bundle);
        }
    }

    private NodeDistribution distribution() throws IOException, CommandFailedException {
        Path directory = surroundings.requireDistribution();
        NodeConf settings = conf == null ? NodeConf.read(directory.resolve("conf")) : NodeConf.readNamed(conf);
        Map<String, String> framework = new HashMap<>(Node.framework(directory, settings));
        if (python != null) {
            if (!Files.isRegularFile(python)) {
                throw new CommandFailedException("no Python program at " + python);
            }
            framework.put(PYTHON_SCRIPT, absolute(python));
        }
        return new NodeDistribution(
                directory.resolve("bundles"),
                settings.settings().shipped(),
                Optional.of(settings.directory()),
                framework);
    }

    private ReplayPace pace(Host host) throws UsageException {
        switch (pace) {
            case "fast":
                return ReplayPace.FASTEST;
            case "original":
                return new RecordedPace(host.clock());
            case "step":
                return new StepPace(System.in, surroundings.err());
            default:
                throw new UsageException("--pace is fast, original or step, not " + pace);
        }
    }

    /** Returns the options of this replay, except those that select calls. */
    private List<String> again(Path path) throws UsageException {
        List<String> words = new ArrayList<>(source.words(path));
        bundles.forEach(bundle -> words.addAll(List.of("--bundle", absolute(bundle))));
        if (python != null) {
            words.addAll(List.of("--python", absolute(python)));
        }
        words.addAll(comparison.words());
        if (alone) {
            words.add("--alone");
        }
        if (limit != null) {
            words.addAll(List.of("--limit", limit.toMillis() + "ms"));
        }
        if (conf != null) {
            words.addAll(List.of("--conf", absolute(conf)));
        }
        return words;
    }

    private static String absolute(Path path) {
        return path.toAbsolutePath().normalize().toString();
    }

    private ReplayReport run(Replay replay, NotSameCalls calls, ReplayTrace trace, Host host) throws IOException {
        long sinceNs = host.clock().monotonicNs();
        try {
            return Progress.during(
                    surroundings,
                    host.threads(),
                    () -> calls.replayed() + " calls replayed",
                    () -> run(replay, calls, trace));
        } catch (UncheckedIOException e) {
            throw e.getCause();
        } finally {
            double seconds = (host.clock().monotonicNs() - sinceNs) / 1e9;
            surroundings
                    .err()
                    .println(String.format(
                            Locale.ROOT,
                            "%d calls replayed in %.1f s, %.0f a second",
                            calls.replayed(),
                            seconds,
                            calls.replayed() / seconds));
        }
    }

    private static ReplayReport run(Replay replay, NotSameCalls calls, ReplayTrace trace) {
        try {
            return replay.run(call -> {
                calls.accept(call);
                trace.accept(call);
            });
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
