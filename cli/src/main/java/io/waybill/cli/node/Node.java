package io.waybill.cli.node;

import io.waybill.api.WorkerInfo;
import io.waybill.api.admin.SettingChange;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.host.failure.CloseSteps;
import io.waybill.osgi.OsgiHost;
import io.waybill.osgi.OsgiSettings;
import io.waybill.osgi.whiteboard.DeviceConverters;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A worker that hosts bundles. It joins as starting, starts its bundles, and then reports that it is ready.
 *
 * <p><b>Threads.</b> One thread creates and closes it. <b>Ownership.</b> Its creator closes it, which drains the
 * handlers.
 */
public final class Node implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Node.class);

    /** Name among a node's published settings of the list of handlers that are out of service. */
    public static final String STUCK = "stuck";

    /** Name among a node's published settings of the list of its own jars that did not start. */
    public static final String NOT_STARTED = "notStarted";

    private static final String NATIVES_PROPERTY = "waybill.torch.natives";
    private static final String SHARE_PROPERTY = "waybill.share";

    private final Worker worker;
    private final HandlerRegistry registry;
    private final OsgiHost osgi;
    private final ServedRecord record;
    private final NodeOperations operations;
    private final RunningSettings settings;
    private DepartedWorkersAgent departed; // null if none is removed; guarded by this

    private Node(
            Worker worker,
            HandlerRegistry registry,
            OsgiHost osgi,
            ServedRecord record,
            NodeOperations operations,
            RunningSettings settings) {
        this.worker = worker;
        this.registry = registry;
        this.osgi = osgi;
        this.record = record;
        this.operations = operations;
        this.settings = settings;
    }

    /**
     * Parameters of a start besides the settings.
     *
     * @param distribution directory with {@code bundles} and {@code lib/native}
     * @param watched jars that appear here are installed; by default {@code bundles} in the worker's directory
     * @param cancelled cancels the start when it returns true; called between the steps of the start, on its thread
     */
    public record Start(Path distribution, Optional<Path> watched, BooleanSupplier cancelled) {}

    /** Starts a node and returns when it is ready. */
    public static Node start(
            Home home, String name, JoinOptions options, Path distribution, NodeConf conf, Optional<Path> watched)
            throws IOException {
        return start(home, name, options, conf, new Start(distribution, watched, () -> false));
    }

    /**
     * Starts a node.
     *
     * @throws CancellationException if the start was cancelled; the node has left its home again
     */
    public static Node start(Home home, String name, JoinOptions options, NodeConf conf, Start start)
            throws IOException {
        if (start.cancelled().getAsBoolean()) {
            throw new CancellationException("the node was stopped before it joined");
        }
        warnOfLinks(home);
        Host host = home.host();
        NodeSettings settings = conf.settings();
        HandlerRegistry registry = new HandlerRegistry(settings.worker().parking(), host.threads(), host.clock());
        registry.expectMore(); // requests that were sent in its absence arrive before its bundles are started
        Worker worker = Worker.join(home, name, options, settings.worker(), registry);
        OsgiHost osgi = null;
        ServedRecord record = null;
        NodeOperations operations = null;
        try {
            operations = new NodeOperations(registry, options.version());
            RunningSettings running = new RunningSettings(conf.directory());
            OsgiSettings osgiSettings = osgiSettings(worker, conf, start);
            osgi = OsgiHost.start(
                    osgiSettings,
                    registry,
                    DeviceConverters.into(worker.devices()),
                    worker.interceptors(),
                    Optional.of(worker.brokers()),
                    host);
            OsgiHost started = osgi;
            record = new ServedRecord(worker, host, () -> shown(conf, osgiSettings, started));
            registry.addListener(record::changed);
            osgi.onNotStartedChange(record::changed); // a bundle without handlers causes no other change
            record.publish();
            Node node = new Node(worker, registry, osgi, record, operations, running);
            node.removeDeparted(settings.departedAge());
            operations.started(node::reload);
            return node;
        } catch (IOException | RuntimeException | Error e) {
            closeAfter(e, record, operations, osgi, worker);
            throw e;
        }
    }

    private static void warnOfLinks(Home home) throws IOException {
        int names = home.hardLinks();
        if (names > 1) {
            LOG.warn(
                    "The files of home {} have {} hard links: a snapshot, such as of cp -al, shares them and is no copy, because workers"
                            + " change files in place; copy with cp -a",
                    home.path(),
                    names);
        }
    }

    /** Closes the opened parts in this order, after a failure. */
    private static void closeAfter(Throwable failure, AutoCloseable... opened) {
        CloseSteps steps = new CloseSteps();
        for (AutoCloseable each : opened) {
            if (each != null) {
                steps.attempt(each::close);
            }
        }
        steps.suppressIn(failure);
    }

    private static OsgiSettings osgiSettings(Worker worker, NodeConf conf, Start start) throws IOException {
        Path distribution = start.distribution();
        Path bundles = start.watched().isPresent()
                ? start.watched().get().toAbsolutePath()
                : worker.directory().subdirectory("bundles");
        Path cache = worker.directory().subdirectory("osgi");
        NodeSettings settings = conf.settings();
        Path scripts = settings.scripts().isAbsolute()
                ? settings.scripts()
                : worker.directory().subdirectory(settings.scripts().toString());
        return OsgiSettings.builder(distribution.resolve("bundles"), bundles, cache, conf.directory())
                .shipped(settings.shipped())
                .scripts(scripts)
                .framework(framework(distribution, conf))
                .startCancelled(start.cancelled())
                .limits(settings.worker().drainLimit(), settings.startLimit(), settings.activationLimit())
                .build();
    }

    /** Returns the properties for the OSGi framework of a node. */
    public static Map<String, String> framework(Path distribution, NodeConf conf) {
        Map<String, String> framework = new HashMap<>(conf.framework());
        framework.putIfAbsent(
                NATIVES_PROPERTY, distribution.resolve("lib").resolve("native").toString());
        framework.putIfAbsent(SHARE_PROPERTY, distribution.resolve("share").toString());
        return framework;
    }

    private static Map<String, String> shown(NodeConf conf, OsgiSettings osgi, OsgiHost host) {
        Map<String, String> shown = new HashMap<>();
        shown.put("waiting", Quantities.written(conf.settings().worker().waiting()));
        shown.put("bundles", osgi.watched().toString());
        shown.put("scripts", osgi.scripts().toString());
        List<String> notStarted = host.notStarted().keySet().stream()
                .map(jar -> jar.getFileName().toString())
                .sorted()
                .toList();
        if (!notStarted.isEmpty()) {
            shown.put(NOT_STARTED, ServedRecord.shown(notStarted));
        }
        return shown;
    }

    /**
     * Returns the jars of the distribution, or from earlier installations, that the node could not start, with the
     * reasons.
     */
    public Map<Path, String> notStarted() {
        return osgi.notStarted();
    }

    public WorkerInfo info() {
        return worker.info();
    }

    /** Returns the worker that hosts the bundles, for calls. The node closes it. */
    public Worker worker() {
        return worker;
    }

    /** Returns the registry for handlers without a bundle. */
    public HandlerRegistry handlers() {
        return registry;
    }

    /**
     * Sets the action that stops the node at an operator's request. Without it, the node refuses to be stopped by a
     * call.
     */
    public void onStop(NodeStop end) {
        operations.onStop(end);
    }

    /**
     * Rereads the settings, and applies those that can change at run time.
     *
     * @throws IOException if a file can't be read or is invalid; then no setting is applied
     */
    public List<SettingChange> reload() throws IOException {
        return settings.reload(now -> {
            WorkerSettings wanted = now.worker();
            registry.parking(wanted.parking());
            worker.retain(wanted.retention().maxAge(), wanted.retention().maxCycles());
            removeDeparted(now.departedAge());
        });
    }

    private synchronized void removeDeparted(Duration age) {
        if (departed != null) {
            departed.close();
        }
        departed = DepartedWorkersAgent.start(
                worker.directory().home(), worker.info().name(), age);
    }

    private synchronized void leaveDeparted() {
        if (departed != null) {
            departed.close();
        }
    }

    /** Lets running requests complete, stops the bundles and leaves. Bounded by the limits of the settings. */
    @Override
    public void close() throws IOException {
        CloseSteps steps = new CloseSteps();
        steps.attempt(record::close)
                .attempt(operations::close)
                .attempt(this::leaveDeparted) // after the operation that may start to remove others
                .attempt(worker::drainRequests) // requests that are read while the bundles stop would find no handler
                .attempt(osgi::close)
                .attempt(worker::close)
                .finish();
    }
}
