package io.waybill.testing;

import io.waybill.api.admin.BundleInfo;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.host.Host;
import io.waybill.osgi.BundleControl;
import io.waybill.osgi.BundleStatus;
import io.waybill.osgi.LoaderWatch;
import io.waybill.osgi.OsgiHost;
import io.waybill.osgi.OsgiSettings;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.whiteboard.DeviceConverters;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;

/** The worker of a test that has bundles, and its framework. One thread at a time; its creator closes it. */
final class TestedNode implements AutoCloseable {

    private static final Duration DRAIN_LIMIT = Duration.ofSeconds(3);

    private final Path directory;
    private final String name;
    private final Host watched;
    private TestedWorker worker;
    private OsgiHost osgi;

    private TestedNode(Path directory, String name, Host watched) {
        this.directory = directory;
        this.name = name;
        this.watched = watched;
    }

    /**
     * Starts a node without bundles of handlers, whose requests wait for them until it is ready.
     *
     * @param directory empty directory of the broker
     * @param watched host of the worker's threads
     * @param configurations settings of components by PID
     */
    static TestedNode start(Path directory, String name, Host watched, Map<String, Map<String, String>> configurations)
            throws IOException {
        TestedNode node = new TestedNode(directory, name, watched);
        SystemBundles.copyTo(node.systemBundles());
        Files.createDirectories(node.conf());
        for (Map.Entry<String, Map<String, String>> each : configurations.entrySet()) {
            node.configure(each.getKey(), each.getValue());
        }
        node.start();
        return node;
    }

    private void start() throws IOException {
        worker = TestedWorker.join(directory.resolve("home"), name, watched, true);
        try {
            Path own = directory.resolve("node");
            OsgiSettings settings = OsgiSettings.builder(systemBundles(), own.resolve("watched"), own, conf())
                    .limits(DRAIN_LIMIT, OsgiSettings.START_LIMIT_DEFAULT, OsgiSettings.ACTIVATION_LIMIT_DEFAULT)
                    .build();
            osgi = OsgiHost.start(
                    settings,
                    worker.registry(),
                    DeviceConverters.into(worker.worker().devices()),
                    worker.worker().interceptors(),
                    Optional.of(worker.worker().brokers()),
                    Host.real());
        } catch (IOException | RuntimeException e) {
            worker.close();
            throw e;
        }
    }

    Path systemBundles() {
        return directory.resolve("bundles");
    }

    private Path conf() {
        return directory.resolve("node").resolve("conf");
    }

    TestedWorker worker() {
        return worker;
    }

    BundleControl bundles() {
        return osgi.bundles();
    }

    LoaderWatch loaders() {
        return osgi.loaders();
    }

    void configure(String pid, Map<String, String> settings) throws IOException {
        Properties file = new Properties();
        settings.forEach(file::setProperty);
        Path written = Files.createTempFile(directory, "settings", null);
        try (Writer to = Files.newBufferedWriter(written)) {
            file.store(to, null);
        }
        Files.move(written, conf().resolve(pid + ".cfg"), StandardCopyOption.REPLACE_EXISTING);
    }

    /** @throws AssertionError if the bundle does not become active */
    void install(BundleJar jar) throws IOException {
        try {
            BundleStatus installed = osgi.bundles().install(jar.path());
            if (installed.state() != BundleInfo.State.ACTIVE) {
                throw new AssertionError(
                        jar + " does not start: " + installed.problem().orElse("it is not active"));
            }
        } catch (BundleRefusedException e) {
            throw new AssertionError(jar + " does not start: " + e.getMessage(), e);
        }
    }

    /** Stops in order, and starts again with the bundles and the test's handlers that it had. */
    void restart() throws IOException {
        close();
        List<HandlerSpec> added = worker.added();
        start();
        added.forEach(spec -> worker.handle(spec.keys().get(0), spec.handler()));
        worker.ready();
    }

    @Override
    public void close() throws IOException {
        TestedWorker leaving = worker;
        try (leaving) {
            leaving.worker().drainRequests(); // requests that are read while the bundles stop would find no handler
            osgi.close();
        }
    }
}
