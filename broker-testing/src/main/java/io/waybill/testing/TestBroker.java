package io.waybill.testing;

import io.waybill.api.Caller;
import io.waybill.api.MessageId;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.admin.LoaderInfo;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.metrics.WorkerMetrics;
import io.waybill.api.tool.ToolFailedException;
import io.waybill.dispatch.HandlerKey;
import io.waybill.host.Host;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.replay.NodeDistribution;
import io.waybill.replay.Replay;
import io.waybill.replay.ReplayReport;
import io.waybill.replay.compare.ContentComparison;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.ResponseComparison;
import io.waybill.replay.compare.Verdict;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * A broker in this JVM: a serving worker with bundles, a calling worker, and others that join. All are real, with real
 * journals.
 *
 * <p><b>Threads.</b> One at a time; {@link #caller()} is for any. <b>Ownership.</b> Its creator closes it.
 * <b>Errors.</b> Assertions fail with an {@link AssertionError} that describes the problem of the bundle.
 */
public final class TestBroker implements AutoCloseable {

    /** Name of the worker with the bundle. */
    public static final String SERVER = "server";

    /** Name of the worker without a bundle, which makes the calls of {@link #caller}. */
    public static final String CALLER = "caller";

    private static final long LOOK_NS = 100_000_000;
    private static final int CALLS_BESIDE = 200;
    private static final int SHOWN = 5;

    private final Path directory;
    private final Host host;
    private final PollerWatch pollers;
    private final TestedNode node;
    private final Map<String, TestedWorker> others = new HashMap<>(); // without bundles, by name
    private Duration timeout = Duration.ofSeconds(20);
    private Duration loaderLimit = Duration.ofSeconds(10);
    private BundleJar bundle;

    private TestBroker(Path directory, BundleJar bundle, Map<String, Map<String, String>> configurations)
            throws IOException {
        this.directory = directory;
        this.bundle = bundle;
        host = Host.real();
        pollers = new PollerWatch(host.threads());
        node = TestedNode.start(directory, SERVER, pollers.on(host), configurations);
        try {
            join(CALLER);
        } catch (IOException | RuntimeException e) {
            node.close();
            throw e;
        }
    }

    /**
     * Starts a broker.
     *
     * @param directory empty directory for all its files
     * @param bundle a jar, or a directory with what will be in one, such as bnd leaves in {@code target/classes}
     * @throws AssertionError if the bundle does not resolve, does not start, or has a component that does not become
     *     active
     */
    public static TestBroker start(Path directory, Path bundle) throws IOException {
        return start(directory, bundle, List.of(), Map.of());
    }

    /**
     * Starts a broker with several bundles.
     *
     * @param others installed before the bundle that is tested, in this order
     * @param configurations settings by PID, as {@link #configure} writes them, from the beginning
     */
    public static TestBroker start(
            Path directory, Path bundle, List<Path> others, Map<String, Map<String, String>> configurations)
            throws IOException {
        TestBroker broker = new TestBroker(directory, BundleJar.of(bundle, directory), configurations);
        try {
            for (Path other : others) {
                broker.node.install(BundleJar.of(other, directory));
            }
            broker.node.install(broker.bundle);
            broker.node.worker().ready();
            return broker;
        } catch (AssertionError | IOException | RuntimeException e) {
            broker.close();
            throw e;
        }
    }

    /**
     * Writes the settings of a component, as an operator does, to {@code conf/<PID>.cfg}. They take effect within a
     * second or so, so that a test waits for what they change.
     *
     * @param pid name of the component's class, or the one that it names
     */
    public void configure(String pid, Map<String, String> settings) throws IOException {
        node.configure(pid, settings);
    }

    /**
     * Joins another worker without bundles.
     *
     * @return its calls
     */
    public Caller join(String name) throws IOException {
        TestedWorker joined = TestedWorker.join(home(), name, host, false);
        others.put(name, joined);
        joined.ready();
        return joined.worker();
    }

    /**
     * Stops the worker with the bundles in order, and starts it again with all that it had, as {@code waybill restart}
     * does. Requests that it had not begun are served by its next incarnation.
     */
    public void restart() throws IOException {
        node.restart();
    }

    /** Returns the directory that all workers share, with their journals, for queries and replays. */
    public Path home() {
        return directory.resolve("home");
    }

    /** Returns the calling worker. */
    public Caller caller() {
        return others.get(CALLER).worker();
    }

    /** Returns the calls of the worker with the bundle, to which the bundle's call interceptors apply. */
    public Caller server() {
        return node.worker().worker();
    }

    /**
     * Returns the figures that the worker with the bundle published last, among them {@code bundle/name} of counters and
     * {@code bundle:name} of gauges: up to a second old, up to five at rest. Empty before the first publication.
     */
    public Map<String, Long> figures() throws IOException {
        Worker server = node.worker().worker();
        return server.metrics().read().stream()
                .filter(each -> each.worker().equals(server.info()))
                .findFirst()
                .map(WorkerMetrics::values)
                .orElse(Map.of());
    }

    /**
     * Adds a handler of the test, which may block, to a worker. It stays until the end of the test.
     *
     * @param worker {@link #SERVER}, {@link #CALLER} or one that has {@linkplain #join joined}
     * @param key an operation, a prefix such as {@code text.*}, or the name or code of a type
     */
    public void handle(String worker, String key, MessageHandler handler) {
        TestedWorker tested = worker(worker)
                .orElseThrow(() -> new IllegalArgumentException(
                        "the workers of this test are " + SERVER + " and " + others.keySet() + ", not " + worker));
        tested.handle(HandlerKey.parse(key), handler);
    }

    private Optional<TestedWorker> worker(String name) {
        return name.equals(SERVER) ? Optional.of(node.worker()) : Optional.ofNullable(others.get(name));
    }

    /** Creates a call by name to the bundle, without fields. */
    public Request request(String operation) {
        return Request.operation(SERVER, operation).timeout(timeout);
    }

    /** Calls and waits; the test closes the response. */
    public Response call(Request request) {
        return caller().call(request);
    }

    /**
     * Runs a command of the bundle to its end, and returns its lines, as texts, and its JSON documents.
     *
     * @param words its options and arguments; {@code --json} lets it write JSON
     * @throws ToolFailedException if it fails, with the line and the exit code that a user would see
     */
    public List<Value> command(String name, String... words) throws ToolFailedException {
        return new CommandRun(caller(), timeout).run(name, List.of(words));
    }

    /** Replaces the running bundle with another version. */
    public void upgrade(Path next) throws IOException {
        upgrade(BundleJar.of(next, directory));
    }

    private void upgrade(BundleJar next) {
        try {
            node.bundles().update(next.path());
            bundle = next;
        } catch (BundleRefusedException e) {
            throw new AssertionError(next + " does not take the place of " + bundle + ": " + e.getMessage(), e);
        }
    }

    /**
     * Upgrades the bundle to itself under the next version, while several threads call it; fails if a call got no
     * response, or a wrong one.
     *
     * @param requests supplies one request for each call, to several threads
     * @param isRight checks a response of either version
     */
    public TrafficOutcome upgradeUnderTraffic(Supplier<Request> requests, Predicate<Response> isRight)
            throws IOException, InterruptedException {
        return upgradeUnderTraffic(bundle.next(directory), requests, isRight);
    }

    /**
     * Upgrades to another version of the bundle, while several threads call it; fails if a call got no response, or a
     * wrong one.
     */
    public TrafficOutcome upgradeUnderTraffic(Path next, Supplier<Request> requests, Predicate<Response> isRight)
            throws IOException, InterruptedException {
        return upgradeUnderTraffic(BundleJar.of(next, directory), requests, isRight);
    }

    private TrafficOutcome upgradeUnderTraffic(BundleJar next, Supplier<Request> requests, Predicate<Response> isRight)
            throws InterruptedException {
        BundleJar before = bundle;
        Traffic traffic = Traffic.start(host, caller(), requests, isRight, timeout);
        TrafficOutcome outcome;
        try {
            traffic.awaitMore(CALLS_BESIDE);
            upgrade(next);
            traffic.awaitMore(CALLS_BESIDE);
        } finally {
            outcome = traffic.end();
        }
        if (!outcome.isWhole()) {
            throw new AssertionError("of " + outcome.calls() + " calls while " + before + " was upgraded to "
                    + next.version() + ", " + outcome.failed() + " failed, " + outcome.wrong()
                    + " had a wrong response and " + outcome.lost() + " have no outcome:\n  "
                    + String.join("\n  ", outcome.firstProblems()));
        }
        return outcome;
    }

    /** Sets the timeout of calls; the default is 20 s. */
    public TestBroker timeout(Duration other) {
        timeout = other;
        return this;
    }

    /** Sets the time for which loaders may be reachable, for tests of this class. */
    TestBroker loaderLimit(Duration other) {
        loaderLimit = other;
        return this;
    }

    /** Fails if the class loader of a replaced version is still reachable. */
    public void assertNoLoaderLeaked() {
        long untilNs = host.clock().monotonicNs() + loaderLimit.toNanos();
        List<LoaderInfo> leaks = reachable();
        while (!leaks.isEmpty() && host.clock().monotonicNs() < untilNs) {
            host.threads().pause(LOOK_NS);
            leaks = reachable();
        }
        if (!leaks.isEmpty()) {
            String which = leaks.stream()
                    .map(leak -> leak.name() + " " + leak.version())
                    .distinct()
                    .collect(Collectors.joining(", "));
            throw new AssertionError(
                    "the class loader of " + which + " can still be reached, " + loaderLimit.toSeconds()
                            + " s after it was replaced: by a thread that goes on, a ThreadLocal, a listener or a static field of"
                            + " a class that is not the bundle's");
        }
    }

    private List<LoaderInfo> reachable() {
        System.gc();
        return node.loaders().leaked(Duration.ZERO);
    }

    /** Fails if a non-blocking handler was seen waiting since the start of the broker. */
    public void assertPollerNotBlocked() {
        if (!pollers.findings().isEmpty()) {
            throw new AssertionError("a handler blocks the poller: " + String.join("\n", pollers.findings())
                    + "\n  take @NonBlocking away, or respond later");
        }
    }

    /**
     * Replays recorded calls with the current bundle, and fails if a response differs from the recorded one. Calls to
     * {@linkplain #handle handlers of the test} are omitted.
     *
     * @param recording a home, such as {@link #home()}, or a slice
     */
    public ReplayReport assertReplays(Path recording) throws IOException {
        return assertReplays(recording, ContentComparison.exact());
    }

    /** Replays recorded calls with another comparison. */
    public ReplayReport assertReplays(Path recording, ResponseComparison comparison) throws IOException {
        List<String> problems = new ArrayList<>();
        ReplayReport report = Replay.of(recording)
                .on(host)
                .in(NodeDistribution.of(node.systemBundles()))
                .with(bundle.path())
                .leaveOut((registry, worker) ->
                        worker(worker.name()).ifPresent(tested -> tested.added().forEach(registry::add)))
                .compare(comparison)
                .run(call -> difference(call).ifPresent(text -> {
                    if (problems.size() < SHOWN) {
                        problems.add(text);
                    }
                }));
        if (report.calls() == 0) {
            throw new AssertionError("nothing was replayed: there are no calls on record in " + recording);
        } else if (!report.isAllSame()) {
            throw new AssertionError(bundle + " does not respond as on record in " + recording + ":\n  "
                    + String.join("\n  ", problems));
        }
        return report;
    }

    /** Describes the difference in one line; empty when the response equals the recorded one. */
    private static Optional<String> difference(ReplayedCall call) {
        return call.results().stream()
                .filter(result -> result.verdict() != Verdict.SAME)
                .findFirst()
                .map(result -> "call " + MessageId.text(call.call().id()) + " of " + call.operation() + ", "
                        + result.verdict().name().toLowerCase(Locale.ROOT).replace('_', ' ') + ": " + result.reason());
    }

    /** Stops the bundles and all workers. */
    @Override
    public void close() throws IOException {
        pollers.close();
        try {
            node.close();
        } finally {
            for (TestedWorker each : others.values()) {
                each.close();
            }
        }
    }
}
