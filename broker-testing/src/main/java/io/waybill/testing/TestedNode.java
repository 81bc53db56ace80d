package io.waybill.testing;

import io.waybill.api.admin.BundleInfo;
import io.waybill.host.DirectoryTree;
import io.waybill.host.Host;
import io.waybill.host.failure.CloseSteps;
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

/** A worker of a test in this JVM that has bundles, and its framework. One thread at a time; its creator closes it. */
final class TestedNode implements TestedMember {

    private static final Duration DRAIN_LIMIT = Duration.ofSeconds(3);

    private final Path own;
    private final Host on;
    private final TestedWorker worker;
    private OsgiHost osgi;
    private BundleJar last; // null until a bundle is installed

    private TestedNode(Path own, Host on, TestedWorker worker) {
        this.own = own;
        this.on = on;
        this.worker = worker;
    }

    /**
     * Starts a node with its bundles, or with those that an incarnation before it had installed. A first one that fails
     * leaves no files. Requests wait for their handlers.
     *
     * @param directory of the broker
     * @throws AssertionError if a bundle does not become active
     */
    static TestedNode start(Path directory, String name, Host on, WorkerSetup setup) throws IOException {
        Path own = prepare(directory, name, setup);
        if (Files.exists(own.resolve("installed"))) {
            return started(own, TestedWorker.join(directory, name, on, setup), on);
        }
        try {
            TestedNode node = started(own, TestedWorker.join(directory, name, on, setup), on);
            node.installAll(setup.bundles());
            return node;
        } catch (AssertionError | IOException | RuntimeException e) {
            new CloseSteps().attempt(() -> DirectoryTree.remove(own)).suppressIn(e);
            throw e;
        }
    }

    private static TestedNode started(Path own, TestedWorker worker, Host on) throws IOException {
        TestedNode node = new TestedNode(own, on, worker);
        node.start();
        return node;
    }

    private void installAll(List<Path> bundles) throws IOException {
        try {
            for (Path bundle : bundles) {
                install(BundleJar.of(bundle, own));
            }
        } catch (AssertionError | IOException | RuntimeException e) {
            new CloseSteps().attempt(this::close).suppressIn(e);
            throw e;
        }
    }

    /** Writes the files of a node, unless there are such; returns its directory. */
    static Path prepare(Path directory, String name, WorkerSetup setup) throws IOException {
        Path own = directory.resolve(name.equals(TestBroker.SERVER) ? "node" : "node-" + name);
        if (Files.notExists(own)) {
            SystemBundles.copyTo(own.resolve("system"));
            Files.createDirectories(own.resolve("conf"));
            for (Map.Entry<String, Map<String, String>> each :
                    setup.configurations().entrySet()) {
                configure(own, each.getKey(), each.getValue());
            }
        }
        return own;
    }

    private void start() throws IOException {
        try {
            OsgiSettings settings = OsgiSettings.builder(
                            systemBundles(), own.resolve("watched"), own, own.resolve("conf"))
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
        return own.resolve("system");
    }

    @Override
    public TestedWorker here() {
        return worker;
    }

    /** Returns the bundle that was installed last. */
    BundleJar last() {
        return last;
    }

    BundleControl bundles() {
        return osgi.bundles();
    }

    LoaderWatch loaders() {
        return osgi.loaders();
    }

    void configure(String pid, Map<String, String> settings) throws IOException {
        configure(own, pid, settings);
    }

    private static void configure(Path own, String pid, Map<String, String> settings) throws IOException {
        Properties file = new Properties();
        settings.forEach(file::setProperty);
        Path written = Files.createTempFile(own, "settings", null);
        try (Writer to = Files.newBufferedWriter(written)) {
            file.store(to, null);
        }
        Files.move(written, own.resolve("conf").resolve(pid + ".cfg"), StandardCopyOption.REPLACE_EXISTING);
    }

    private void install(BundleJar jar) throws IOException {
        try {
            BundleStatus installed = osgi.bundles().install(jar.path());
            if (installed.state() != BundleInfo.State.ACTIVE) {
                throw new AssertionError(
                        jar + " does not start: " + installed.problem().orElse("it is not active"));
            }
            last = jar;
        } catch (BundleRefusedException e) {
            throw new AssertionError(jar + " does not start: " + e.getMessage(), e);
        }
    }

    @Override
    public void restart() throws IOException {
        close();
        worker.rejoin();
        start();
        worker.ready();
    }

    @Override
    public void kill() {
        worker.kill();
    }

    @Override
    public void close() throws IOException {
        try (TestedWorker leaving = worker) {
            leaving.worker().drainRequests(); // requests that are read while the bundles stop would find no handler
            osgi.close();
        }
    }
}
