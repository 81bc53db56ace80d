package io.waybill.replay;

import io.waybill.api.WorkerInfo;
import io.waybill.api.admin.BundleInfo;
import io.waybill.broker.Brokers;
import io.waybill.host.DirectoryTree;
import io.waybill.host.Host;
import io.waybill.host.failure.CloseSteps;
import io.waybill.osgi.BundleStatus;
import io.waybill.osgi.OsgiHost;
import io.waybill.osgi.OsgiSettings;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.whiteboard.DeviceConverters;
import io.waybill.replay.run.ReplayCandidate;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Optional;

/**
 * Handlers of bundles: those of the distribution, copies of the replayed worker's bundles, and a candidate, in a
 * separate framework below a temporary directory. Closes the resources that it opened.
 */
final class BundleHandlers implements Closeable {

    private static final String WATCHED = "bundles";
    private static final String INSTALLED = "osgi/installed";
    private static final String SCRIPTS = "scripts";

    private final Path directory;
    private final OsgiHost osgi;

    private BundleHandlers(Path directory, OsgiHost osgi) {
        this.directory = directory;
        this.osgi = osgi;
    }

    /**
     * Starts a framework.
     *
     * @param registries registries for the services of the bundles
     * @param self the worker whose requests are replayed
     * @param worker the worker's own directory, whose bundles are copied; empty for none
     * @param candidate bundle that replaces the installed one of its name, if any; empty for none
     * @throws IOException also if the candidate is rejected
     */
    static BundleHandlers start(
            Host host,
            ReplayCandidate.Registries registries,
            WorkerInfo self,
            NodeDistribution distribution,
            Optional<Path> worker,
            Optional<Path> candidate)
            throws IOException {
        Path directory = Files.createTempDirectory("waybill-replay-");
        try {
            if (worker.isPresent()) {
                copyBundles(worker.get(), directory);
            }
            Brokers brokers = // each is revoked when the framework stops; none has a thread before
                    new Brokers(new ReplayBackend(self, registries.lacked()), host);
            OsgiHost osgi = OsgiHost.start(
                    settings(distribution, directory),
                    registries.handlers(),
                    DeviceConverters.into(registries.devices()),
                    registries.interceptors(),
                    Optional.of(brokers),
                    host);
            BundleHandlers handlers = new BundleHandlers(directory, osgi);
            try {
                if (candidate.isPresent()) {
                    handlers.install(candidate.get());
                }
                return handlers;
            } catch (IOException | RuntimeException | Error e) {
                new CloseSteps().attempt(osgi::close).suppressIn(e);
                throw e;
            }
        } catch (IOException | RuntimeException e) {
            DirectoryTree.remove(directory);
            throw e;
        }
    }

    private static OsgiSettings settings(NodeDistribution distribution, Path directory) {
        Path conf = distribution.conf().orElse(directory.resolve("conf"));
        return OsgiSettings.builder(distribution.bundles(), directory.resolve(WATCHED), directory.resolve("osgi"), conf)
                .shipped(distribution.shipped())
                .scripts(directory.resolve(SCRIPTS))
                .framework(distribution.framework())
                .unrecordedInputs(OsgiSettings.UnrecordedInputs.NOTED)
                .build();
    }

    private static void copyBundles(Path worker, Path to) throws IOException {
        Files.createDirectories(to.resolve(INSTALLED));
        copy(worker.resolve(WATCHED), to.resolve(WATCHED), "*.{jar,JAR,Jar}");
        copy(worker.resolve(INSTALLED), to.resolve(INSTALLED), "*.jar");
        copy(worker.resolve(SCRIPTS), to.resolve(SCRIPTS), "*");
    }

    private static void copy(Path from, Path to, String names) throws IOException {
        Files.createDirectories(to);
        if (!Files.isDirectory(from, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(from, names)) {
            for (Path file : files) {
                if (Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
                    Path copy = to.resolve(file.getFileName().toString());
                    Files.copy(file, copy, LinkOption.NOFOLLOW_LINKS, StandardCopyOption.REPLACE_EXISTING);
                }
            }
        }
    }

    private void install(Path candidate) throws IOException {
        BundleStatus status;
        try {
            status = osgi.bundles().install(candidate);
        } catch (BundleRefusedException e) {
            throw new IOException("the candidate is not taken: " + e.getMessage(), e);
        }
        if (status.state() != BundleInfo.State.ACTIVE) {
            osgi.close();
            throw new IOException(
                    "the candidate is not taken: " + status.problem().orElse("it is not active"));
        }
    }

    /**
     * Returns the bundles that did not start, with the reasons; the text is the same in each replay, wherever its
     * directory is.
     */
    List<String> problems() {
        String own = directory + "/";
        return osgi.notStarted().entrySet().stream()
                .map(jar -> jar.getKey().getFileName() + " does not start: "
                        + jar.getValue().replace(own, ""))
                .sorted()
                .toList();
    }

    @Override
    public void close() throws IOException {
        try {
            osgi.close();
        } finally {
            DirectoryTree.remove(directory);
        }
    }
}
