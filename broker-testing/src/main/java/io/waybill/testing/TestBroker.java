package io.waybill.testing;

import io.waybill.api.Caller;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.admin.LoaderInfo;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.metrics.WorkerMetrics;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.api.tool.ToolFailedException;
import io.waybill.dispatch.HandlerKey;
import io.waybill.host.Host;
import io.waybill.host.failure.CloseSteps;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.replay.ReplayReport;
import io.waybill.replay.compare.ContentComparison;
import io.waybill.replay.compare.ResponseComparison;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * A broker in this JVM: a serving worker with bundles, a calling worker, and others that join or are started in
 * processes of their own. All are real, with real journals.
 *
 * <p><b>Threads.</b> One at a time; {@link #caller()} is for any. <b>Ownership.</b> Its creator closes it.
 * <b>Errors.</b> Assertions fail with an {@link AssertionError} that describes the problem of the bundle. A name that no
 * worker has, or that two would have, is an {@link IllegalArgumentException}.
 */
public final class TestBroker implements AutoCloseable {

    /** Name of the worker with the bundle. */
    public static final String SERVER = "server";

    /** Name of the worker without a bundle, which makes the calls of {@link #caller}. */
    public static final String CALLER = "caller";

    private static final long LOOK_NS = 100_000_000;
    private static final int CALLS_BESIDE = 200;

    private final Path directory;
    private final Host host;
    private final PollerWatch pollers;
    private final Host watched; // its pollers are watched
    private final TestedNode node;
    private final Map<String, TestedMember> members = new LinkedHashMap<>(); // by name
    private Duration timeout = Duration.ofSeconds(20);
    private Duration loaderLimit = Duration.ofSeconds(10);
    private BundleJar bundle;

    private TestBroker(Path directory, WorkerSetup setup) throws IOException {
        this.directory = directory;
        host = Host.real();
        pollers = new PollerWatch(host.threads());
        watched = pollers.on(host);
        try {
            node = TestedNode.start(directory, SERVER, watched, setup);
        } catch (AssertionError | IOException | RuntimeException e) {
            pollers.close();
            throw e;
        }
        bundle = node.last();
        members.put(SERVER, node);
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
        return start(directory, WorkerSetup.of(bundle));
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
        List<Path> all = new ArrayList<>(others);
        all.add(bundle);
        WorkerSetup setup = WorkerSetup.of(all.toArray(Path[]::new));
        for (Map.Entry<String, Map<String, String>> each : configurations.entrySet()) {
            setup = setup.configured(each.getKey(), each.getValue());
        }
        return start(directory, setup);
    }

    /**
     * Starts a broker.
     *
     * @param server setup of {@link #SERVER}; the last of its bundles is the tested one
     * @throws IllegalArgumentException if it has no bundle, or a device map of it is wrong
     */
    public static TestBroker start(Path directory, WorkerSetup server) throws IOException {
        if (!server.isNode()) {
            throw new IllegalArgumentException("worker " + SERVER + " of a test: expected a bundle, found none");
        }
        TestBroker broker = new TestBroker(directory, server);
        try {
            broker.join(CALLER);
            broker.node.here().ready();
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
     * Joins another worker without bundles, in this JVM.
     *
     * @return its calls, up to a restart
     */
    public Caller join(String name) throws IOException {
        return join(name, WorkerSetup.of());
    }

    /**
     * Joins another worker in this JVM, a node if it has bundles.
     *
     * @return its calls, up to a restart
     * @throws AssertionError if a bundle of it does not start
     */
    public Caller join(String name, WorkerSetup setup) throws IOException {
        requireFree(name);
        members.put(name, TestedMember.start(directory, name, watched, setup));
        worker(name).ready();
        return caller(name);
    }

    /**
     * Starts another worker in a process of its own, a JVM with this one's class path, so that it can be
     * {@linkplain #kill killed}. It ends with the test.
     *
     * @throws AssertionError if it does not become ready; the text has its output
     */
    public void startProcess(String name, WorkerSetup setup) throws IOException {
        requireFree(name);
        members.put(name, TestedProcess.start(directory, name, host, setup));
    }

    private void requireFree(String name) {
        if (members.containsKey(name)) {
            throw new IllegalArgumentException("worker " + name + " can't join: this test has one of that name");
        }
    }

    /**
     * Kills a worker that {@link #startProcess} started, by SIGKILL, and returns when its process is gone. Nothing is
     * closed or drained: its claims and files stay as they are, and calls in flight to it end as
     * {@linkplain io.waybill.api.handler.Delivery its handlers} declare, such as with {@code WORKER_LOST}.
     *
     * <p>A worker in this JVM can't be killed: peers take it for alive as long as the JVM lives, and the kernel keeps its
     * locks and descriptors, and its threads their work.
     *
     * @throws IllegalArgumentException if the worker is in this JVM
     */
    public void kill(String worker) {
        member(worker).kill();
    }

    /**
     * Stops the worker with the bundles in order, and starts it again with all that it had, as {@code waybill restart}
     * does. Requests that it had not begun are served by its next incarnation.
     */
    public void restart() throws IOException {
        restart(SERVER);
    }

    /**
     * Stops a worker in order, unless it was {@linkplain #kill killed}, and starts its next incarnation under its name,
     * with the home, settings, bundles and handlers that it had. A caller that was taken from it before is closed.
     *
     * @throws AssertionError if it does not stop, or does not start again
     */
    public void restart(String worker) throws IOException {
        member(worker).restart();
    }

    /** Returns the directory that all workers share, with their journals, for queries and replays. */
    public Path home() {
        return directory.resolve("home");
    }

    /** Returns the calling worker. */
    public Caller caller() {
        return caller(CALLER);
    }

    /**
     * Returns the calls of a worker in this JVM, up to its restart.
     *
     * @throws IllegalArgumentException if it is in a process of its own
     */
    public Caller caller(String worker) {
        return worker(worker).worker();
    }

    /** Returns the calls of the worker with the bundle, to which the bundle's call interceptors apply. */
    public Caller server() {
        return caller(SERVER);
    }

    /** Returns an allocator of the tensors that a worker in this JVM sends, up to its restart. */
    public TensorBuffers buffers(String worker) {
        return worker(worker).worker().buffers();
    }

    /**
     * Returns the figures that the worker with the bundle published last, among them {@code bundle/name} of counters and
     * {@code bundle:name} of gauges: up to a second old, up to five at rest. Empty before the first publication.
     */
    public Map<String, Long> figures() throws IOException {
        Worker server = node.here().worker();
        return server.metrics().read().stream()
                .filter(each -> each.worker().equals(server.info()))
                .findFirst()
                .map(WorkerMetrics::values)
                .orElse(Map.of());
    }

    /**
     * Adds a handler of the test, which may block, to a worker. It stays until the end of the test, also across
     * restarts. An annotation {@code @Delivery} of its class applies to calls of workers that have read it: add such a
     * handler before the first call to its worker.
     *
     * @param worker {@link #SERVER}, {@link #CALLER} or one that has {@linkplain #join joined}
     * @param key an operation, a prefix such as {@code text.*}, or the name or code of a type
     */
    public void handle(String worker, String key, MessageHandler handler) {
        worker(worker).handle(HandlerKey.parse(key), handler);
    }

    private TestedWorker worker(String name) {
        return member(name).here();
    }

    private TestedMember member(String name) {
        TestedMember member = members.get(name);
        if (member == null) {
            throw new IllegalArgumentException("the workers of this test are " + members.keySet() + ", not " + name);
        }
        return member;
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
     * {@linkplain #handle handlers of the test}, to processes of their own and to other nodes are omitted.
     *
     * @param recording a home, such as {@link #home()}, or a slice
     */
    public ReplayReport assertReplays(Path recording) throws IOException {
        return assertReplays(recording, ContentComparison.exact());
    }

    /** Replays recorded calls with another comparison. */
    public ReplayReport assertReplays(Path recording, ResponseComparison comparison) throws IOException {
        return new BundleReplay(host, node, members).run(recording, bundle, comparison);
    }

    /** Stops the bundles and all workers, those in processes of their own too. */
    @Override
    public void close() throws IOException {
        pollers.close();
        CloseSteps steps = new CloseSteps();
        members.values().forEach(each -> steps.attempt(each::close));
        steps.finish();
    }
}
