package io.waybill.replay;

import io.waybill.api.WorkerInfo;
import io.waybill.broker.Brokers;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.Provider;
import io.waybill.host.Host;
import io.waybill.query.MessageFilter;
import io.waybill.replay.compare.ContentComparison;
import io.waybill.replay.compare.ResponseComparison;
import io.waybill.replay.recording.CallRecording;
import io.waybill.replay.recording.HomeRecording;
import io.waybill.replay.run.CallSink;
import io.waybill.replay.run.RecordingAccess;
import io.waybill.replay.run.ReplayCandidate;
import io.waybill.replay.run.ReplayPace;
import io.waybill.replay.run.RunSettings;
import io.waybill.replay.run.WorkerReplay;
import io.waybill.replay.slice.SliceRecording;
import io.waybill.replay.state.CallSchedule;
import io.waybill.tensor.HostMemory;
import io.waybill.tensor.memory.NativeMemory;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongConsumer;
import org.agrona.CloseHelper;

/**
 * Runs recorded requests again and compares the responses with the recorded ones. Configured step by step, then
 * {@link #run(CallSink) run}:
 *
 * <pre>{@code
 * ReplayReport report = Replay.of(home).in(distribution).with(jar).run();
 * }</pre>
 *
 * <p>The recording is never changed, and no recorded worker is called: calls of a handler get recorded responses.
 *
 * <p><b>Threads.</b> One; a run starts further threads.
 */
public final class Replay {

    /** Default max time for a handler, and for a late response after it. */
    public static final Duration LIMIT_DEFAULT = Duration.ofSeconds(60);

    /** Name of the worker's own handlers, which run if no candidate is given. */
    public static final String INSTALLED = "installed";

    private static final String ONE_AT_A_TIME =
            "native libraries are loaded once per process: replay one worker and one candidate at a time";

    private final Opening recording;
    private final Optional<Path> home;
    private final List<Candidate> candidates = new ArrayList<>();
    private final Set<String> workers = new HashSet<>();
    private MessageFilter filter = MessageFilter.ALL;
    private Optional<NodeDistribution> distribution = Optional.empty();
    private ResponseComparison comparison = ContentComparison.exact();
    private Duration limit = LIMIT_DEFAULT;
    private ReplayPace pace = ReplayPace.FASTEST;
    private int times = 1;
    private HandlerSource elsewhere = (registry, worker) -> {};
    private CallSchedule.Before before = CallSchedule.Before.ALL;
    private LongConsumer progress = calls -> {};
    private Host host;
    private int frameworks;

    @FunctionalInterface
    private interface Opening {
        CallRecording open(Host host) throws IOException;
    }

    /** Open handlers. @param problems why some are missing */
    private record Handlers(Closeable closing, List<String> problems) {}

    /** Handlers to replay with. */
    private record Candidate(String name, Optional<Path> bundle, Optional<HandlerSource> handlers) {}

    private Replay(Opening recording, Optional<Path> home) {
        this.recording = recording;
        this.home = home;
    }

    /** Creates a replay of a path that {@link #open} can open. */
    public static Replay of(Path path) {
        return new Replay(host -> open(path, host), Optional.of(path));
    }

    /** Opens the recording at a path: the directory of a home, or the file of a slice. */
    public static CallRecording open(Path path, Host host) throws IOException {
        return Files.isRegularFile(path) ? SliceRecording.open(path, host) : HomeRecording.open(path, host);
    }

    /** Creates a replay of a recording, which the replay closes. */
    public static Replay of(CallRecording recording) {
        return new Replay(host -> recording, Optional.empty());
    }

    /** Replays only calls that these workers handled, each given by name or decimal id; all workers by default. */
    public Replay worker(String nameOrId) {
        workers.add(nameOrId);
        return this;
    }

    /**
     * Compares only these requests. All requests that their worker began before the last of them run as well, unless
     * {@link #alone}, because they may have changed the state of its handlers.
     */
    public Replay select(MessageFilter wanted) {
        filter = Objects.requireNonNull(wanted);
        return this;
    }

    /**
     * Runs only the selected requests and those that created values which they use, so handlers have no other state.
     */
    public Replay alone() {
        before = CallSchedule.Before.NONE;
        return this;
    }

    /** Sets the distribution of the frameworks. */
    public Replay in(NodeDistribution made) {
        distribution = Optional.of(made);
        return this;
    }

    /**
     * Adds a candidate: a bundle that replaces the installed one of its name and runs with all other bundles of the
     * worker.
     */
    public Replay with(Path bundle) {
        candidates.add(new Candidate(unused(bundle.getFileName().toString()), Optional.of(bundle), Optional.empty()));
        return this;
    }

    /** Adds a candidate: handlers without a bundle. */
    public Replay with(String name, HandlerSource handlers) {
        candidates.add(new Candidate(unused(name), Optional.empty(), Optional.of(handlers)));
        return this;
    }

    /** Returns the name, with a number if another candidate has it. */
    private String unused(String name) {
        String free = name;
        for (int number = 2; isUsed(free); number++) {
            free = name + " (" + number + ")";
        }
        return free;
    }

    private boolean isUsed(String name) {
        return candidates.stream().anyMatch(candidate -> candidate.name().equals(name));
    }

    /**
     * Omits the calls to these handlers, unless a candidate has a handler for them. They don't run; their calls count
     * as left out.
     *
     * @param others queried only for the operations and types that they handle
     */
    public Replay leaveOut(HandlerSource others) {
        elsewhere = Objects.requireNonNull(others);
        return this;
    }

    /** Sets the comparison of responses; bit for bit by default. */
    public Replay compare(ResponseComparison by) {
        comparison = Objects.requireNonNull(by);
        return this;
    }

    /**
     * Sets the max time for a handler, and for a late response after it; {@link Duration#ZERO} means indefinitely, for
     * example under a debugger.
     */
    public Replay limit(Duration atMost) {
        if (atMost.isNegative()) {
            throw new IllegalArgumentException("a limit must be 0 or more: " + atMost);
        }
        limit = atMost;
        return this;
    }

    /** Sets the time at which each request runs; as soon as possible by default. */
    public Replay pace(ReplayPace wanted) {
        pace = Objects.requireNonNull(wanted);
        return this;
    }

    /** Sets the number of consecutive runs of each request; one by default. */
    public Replay times(int wanted) {
        if (wanted < 1) {
            throw new IllegalArgumentException("a request is run once or more: " + wanted);
        }
        times = wanted;
        return this;
    }

    /** Sets a listener for progress: it receives the number of replayed calls. */
    public Replay progress(LongConsumer notified) {
        progress = Objects.requireNonNull(notified);
        return this;
    }

    /** Sets the machine; the real one by default. */
    public Replay on(Host machine) {
        host = Objects.requireNonNull(machine);
        return this;
    }

    /** Runs the requests and returns the counts. */
    public ReplayReport run() throws IOException {
        return run(call -> {});
    }

    /**
     * Runs the requests, passes each call to a sink, and returns the counts. Calls arrive worker by worker, in the
     * order in which each worker began them.
     *
     * @throws IOException if the recording can't be read, a candidate is refused, or the sink throws it
     */
    public ReplayReport run(CallSink sink) throws IOException {
        Host machine = host == null ? Host.real() : host;
        VerdictCounts tally = new VerdictCounts(
                wantedCandidates().stream().map(Candidate::name).toList(), progress);
        try (CallRecording opened = recording.open(machine)) {
            long left = 0;
            long brought = 0;
            for (WorkerInfo worker : wanted(opened.workers())) {
                RecordingAccess records = new RecordingAccess(opened, worker);
                WorkerReplay replay = new WorkerReplay(machine, records, settings(machine, worker), call -> {
                    tally.add(call);
                    sink.accept(call);
                });
                CallSchedule schedule = CallSchedule.of(opened, worker, filter, before);
                replay.run(schedule, times, () -> candidates(machine, worker, opened));
                left += replay.left();
                brought += records.brought() + replay.brought();
            }
            return tally.report(left, brought, opened.problems());
        }
    }

    private List<WorkerInfo> wanted(List<WorkerInfo> all) {
        for (String name : workers) {
            if (all.stream().noneMatch(worker -> isNamed(worker, name))) {
                throw new IllegalArgumentException("no worker " + name + " is on record, only "
                        + all.stream().map(WorkerInfo::name).toList());
            }
        }
        return all.stream()
                .filter(worker -> workers.isEmpty() || workers.stream().anyMatch(name -> isNamed(worker, name)))
                .toList();
    }

    private static boolean isNamed(WorkerInfo worker, String nameOrId) {
        return worker.name().equals(nameOrId) || Integer.toString(worker.id()).equals(nameOrId);
    }

    private RunSettings settings(Host machine, WorkerInfo worker) {
        HandlerRegistry others = ReplayCandidate.Registries.on(machine).handlers();
        elsewhere.fill(others, worker);
        HostMemory memory = new HostMemory(new NativeMemory(machine.calls()));
        return new RunSettings(comparison, limit, pace, memory::allocate, others.table());
    }

    private List<Candidate> wantedCandidates() {
        return candidates.isEmpty()
                ? List.of(new Candidate(INSTALLED, Optional.empty(), Optional.empty()))
                : candidates;
    }

    private List<ReplayCandidate> candidates(Host machine, WorkerInfo worker, CallRecording records)
            throws IOException {
        List<ReplayCandidate> opened = new ArrayList<>();
        try {
            for (Candidate candidate : wantedCandidates()) {
                ReplayCandidate.Registries registries = ReplayCandidate.Registries.on(machine);
                Handlers handlers = handlers(candidate, machine, registries, worker);
                opened.add(new ReplayCandidate(
                        candidate.name(),
                        worker,
                        registries,
                        handlers.closing(),
                        () -> whyMissing(candidate, handlers, machine, worker, records)));
            }
            return opened;
        } catch (IOException | RuntimeException e) {
            CloseHelper.quietCloseAll(opened);
            throw e;
        }
    }

    private List<String> whyMissing(
            Candidate candidate, Handlers handlers, Host machine, WorkerInfo worker, CallRecording records) {
        List<String> reasons = new ArrayList<>(handlers.problems());
        if (candidate.handlers().isEmpty()) {
            try {
                BundleHistory.of(worker, records, home, machine).ifPresent(reasons::add);
                if (directory(worker)
                        .filter(own -> !Files.isDirectory(own.resolve("osgi")))
                        .isPresent()) {
                    reasons.add(worker.name()
                            + " was no node, and its handlers are in its program: give a Python program with --python");
                }
            } catch (IOException e) {
                reasons.add("the bundles on record can't be read: " + e.getMessage());
            }
        }
        return reasons;
    }

    private Handlers handlers(
            Candidate candidate, Host machine, ReplayCandidate.Registries registries, WorkerInfo worker)
            throws IOException {
        if (candidate.handlers().isPresent()) {
            HandlerSource source = candidate.handlers().get();
            Brokers brokers = new Brokers(new ReplayBackend(worker, registries.lacked()), machine);
            source.use(brokers.open(new Provider(candidate.name(), "0")), worker);
            source.convert(registries.devices(), worker);
            source.fill(registries.handlers(), worker);
            source.intercept(registries.interceptors(), worker);
            return new Handlers(brokers::close, List.of());
        }
        if (distribution.isEmpty()) {
            throw new IllegalArgumentException("bundles need a distribution, from which their framework is made");
        }
        BundleHandlers bundles = BundleHandlers.start(
                machine, registries, worker, distribution.get(), directory(worker), candidate.bundle());
        List<String> problems = new ArrayList<>(bundles.problems());
        if (!problems.isEmpty() && frameworks > 0) {
            problems.add(ONE_AT_A_TIME);
        }
        frameworks++;
        return new Handlers(bundles, problems);
    }

    private Optional<Path> directory(WorkerInfo worker) {
        return home.map(path -> path.resolve("workers").resolve(worker.id() + "-" + worker.name()))
                .filter(path -> Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS));
    }
}
