package io.waybill.crash;

import io.waybill.api.Message;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.handler.Outbox;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.host.Host;
import io.waybill.osgi.BundleForge;
import io.waybill.osgi.OsgiHost;
import io.waybill.osgi.OsgiSettings;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.whiteboard.DeviceConverters;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.BiConsumer;

/**
 * A server's handlers in a bundle that is updated several times a second. Closing stops that, and the framework. The updates have a
 * thread of their own.
 */
final class SwitchedBundles {

    private static final String RESPONSE = "waybill.crash.answer";
    private static final String NAME = "org.acme.answers";
    private static final Path SYSTEM_BUNDLES = Path.of("target/system-bundles").toAbsolutePath();
    private static final long CALM_MS = 200;

    private final OsgiHost framework;
    private final Path[] versions;
    private final Thread switching = new Thread(this::run, "switching");
    private volatile boolean stopped;

    private SwitchedBundles(OsgiHost framework, Path[] versions) {
        this.framework = framework;
        this.versions = versions;
        this.switching.setDaemon(true);
    }

    /** Makes the bundles, and gives the directory in which they are. */
    static Path forge(Path directory) throws IOException {
        Path bundles = Files.createDirectories(directory.resolve("bundles"));
        for (int version = 0; version < 2; version++) {
            BundleForge forge = new BundleForge(Files.createDirectories(bundles.resolve("classes" + version)));
            Path jar = forge.bundle(NAME, (version + 1) + ".0.0")
                    .source("Inline", handler("Inline", "@NonBlocking ", "0x142"))
                    .source("Serial", handler("Serial", "", "0x143"))
                    .source("OfTensors", handler("OfTensors", "", "0x146"))
                    .source("Slow", handler("Slow", "", "0x144"))
                    .source("Again", handler("Again", "@NonBlocking @Delivery(Delivery.AT_LEAST_ONCE) ", "0x145"))
                    .source("Numbers", CommandRuns.COMPONENT)
                    .build();
            Files.move(jar, bundles.resolve(version + ".jar"));
        }
        return bundles;
    }

    private static String handler(String name, String annotation, String type) {
        return "@Component @HandlesMessage(\"" + type + "\") " + annotation + "public final class " + name
                + " implements MessageHandler {"
                + " @SuppressWarnings(\"unchecked\") public void handle(Message message, Outbox outbox) {"
                + " ((java.util.function.BiConsumer<Message, Outbox>) System.getProperties().get(\"" + RESPONSE
                + "\")).accept(message, outbox); } }";
    }

    /** @param own the worker's directory */
    static SwitchedBundles start(Server server, HandlerRegistry registry, Host host, Path own, Path bundles)
            throws IOException, BundleRefusedException {
        BiConsumer<Message, Outbox> response = server::handle;
        System.getProperties().put(RESPONSE, response);
        Path conf = Files.createDirectories(bundles.resolve("conf"));
        OsgiSettings settings = OsgiSettings.builder(
                        SYSTEM_BUNDLES, own.resolve("bundles"), Files.createDirectories(own.resolve("osgi")), conf)
                .build();
        OsgiHost framework = OsgiHost.start(settings, registry, new NoConverters(), host);
        registry.expectMore(); // the framework expects no more, and the first of ours may be still to come
        Path[] versions = {bundles.resolve("0.jar"), bundles.resolve("1.jar")};
        if (framework.bundles().list().stream()
                .noneMatch(bundle -> bundle.symbolicName().equals(NAME))) {
            framework.bundles().install(versions[0]);
        }
        SwitchedBundles switched = new SwitchedBundles(framework, versions);
        switched.switching.start();
        return switched;
    }

    private void run() {
        for (int i = 1; !stopped; i++) {
            CrashRun.pass(CALM_MS);
            try {
                framework.bundles().update(NAME, versions[i % versions.length]);
            } catch (BundleRefusedException e) {
                CrashProcess.say("refused " + e.getMessage());
                return;
            }
        }
    }

    void close() {
        stopped = true;
        try {
            switching.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        framework.close();
    }

    /** Takes none. */
    private static final class NoConverters implements DeviceConverters {
        @Override
        public void add(String deviceType, DeviceConverter converter) {
            throw new IllegalStateException("no bundle of a run brings a converter");
        }

        @Override
        public void remove(String deviceType, DeviceConverter converter) {
            throw new IllegalStateException("no bundle of a run brings a converter");
        }
    }
}
