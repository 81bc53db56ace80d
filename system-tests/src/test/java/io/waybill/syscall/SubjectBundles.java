package io.waybill.syscall;

import io.waybill.api.device.DeviceConverter;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.host.Host;
import io.waybill.osgi.BundleStatus;
import io.waybill.osgi.OsgiHost;
import io.waybill.osgi.OsgiSettings;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.whiteboard.DeviceConverters;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** The framework of a subject, with bundles that are installed as by the command. Belongs to one thread. */
final class SubjectBundles implements AutoCloseable {

    private static final Path SYSTEM_BUNDLES = Path.of("target/system-bundles").toAbsolutePath();
    private static final Duration LIMIT = Duration.ofSeconds(5);

    private final OsgiHost framework;

    private SubjectBundles(OsgiHost framework) {
        this.framework = framework;
    }

    /** @param directory for all that the framework keeps */
    static SubjectBundles start(HandlerRegistry registry, Path directory) throws IOException {
        Path conf = Files.createDirectories(directory.resolveSibling("conf"));
        OsgiSettings settings = OsgiSettings.builder(SYSTEM_BUNDLES, directory.resolve("watched"), directory, conf)
                .limits(LIMIT, LIMIT, Duration.ofSeconds(1))
                .build();
        return new SubjectBundles(OsgiHost.start(settings, registry, new NoConverters(), Host.real()));
    }

    /** Fails with what the framework did not take from an earlier incarnation. */
    void requireAllTaken() throws IOException {
        if (!framework.notStarted().isEmpty()) {
            throw new IOException("not taken: " + framework.notStarted());
        }
    }

    /** Installs a bundle, or updates the one of its name. Fails with the problem that it has then. */
    void install(Path jar) throws IOException, BundleRefusedException {
        requireNoProblem(framework.bundles().install(jar));
    }

    /** Fails with the problem that is left. */
    void uninstall(String symbolicName) throws IOException, BundleRefusedException {
        requireNoProblem(framework.bundles().uninstall(symbolicName));
    }

    private static void requireNoProblem(BundleStatus status) throws IOException {
        if (status.problem().isPresent()) {
            throw new IOException(status.problem().get());
        }
    }

    @Override
    public void close() {
        framework.close();
    }

    /** Takes none. */
    private static final class NoConverters implements DeviceConverters {
        @Override
        public void add(String deviceType, DeviceConverter converter) {
            throw new IllegalStateException("no bundle of a scenario brings a converter");
        }

        @Override
        public void remove(String deviceType, DeviceConverter converter) {
            throw new IllegalStateException("no bundle of a scenario brings a converter");
        }
    }
}
