package io.waybill.osgi;

import io.waybill.api.Value;
import io.waybill.api.device.DeviceConverter;
import io.waybill.broker.Brokers;
import io.waybill.device.DeviceRegistry;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerTable.Absence;
import io.waybill.dispatch.Outcome;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.host.Host;
import io.waybill.intercept.InterceptorRegistry;
import io.waybill.osgi.whiteboard.DeviceConverters;
import io.waybill.testing.core.RecordingOutbox;
import io.waybill.testing.core.TestMessage;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** A framework below a directory of a test, and calls into its handlers as a worker makes them. */
final class TestNode implements AutoCloseable {

    static final Path SYSTEM_BUNDLES = Path.of("target/system-bundles");

    final Path watched;
    final Path conf;
    final Path scripts;
    final HandlerRegistry registry;
    final OsgiHost host;
    final Map<String, DeviceConverter> converters = new ConcurrentHashMap<>();

    TestNode(Path directory) throws IOException {
        this(directory, SYSTEM_BUNDLES, Map.of());
    }

    TestNode(Path directory, Path bundles, Map<String, String> framework) throws IOException {
        this(directory, bundles, Duration.ofSeconds(20), Duration.ofSeconds(20), framework);
    }

    TestNode(Path directory, Duration drainLimit, Duration startLimit) throws IOException {
        this(directory, SYSTEM_BUNDLES, drainLimit, startLimit, Map.of());
    }

    TestNode(Path directory, HandlerRegistry registry) throws IOException {
        this(directory, SYSTEM_BUNDLES, Duration.ofSeconds(20), Duration.ofSeconds(20), Map.of(), registry);
    }

    /** One whose bundles have a broker. */
    TestNode(Path directory, Brokers brokers) throws IOException {
        this(
                directory,
                SYSTEM_BUNDLES,
                Duration.ofSeconds(20),
                Duration.ofSeconds(20),
                Map.of(),
                newRegistry(),
                OsgiSettings.UnrecordedInputs.LEFT_ALONE,
                uncalled(),
                Optional.of(brokers));
    }

    private static InterceptorRegistry uncalled() {
        return new InterceptorRegistry(Host.real());
    }

    /** One whose bundles serve and call as a worker. */
    TestNode(Path directory, HandlerRegistry registry, InterceptorRegistry interceptors, Brokers brokers)
            throws IOException {
        this(
                directory,
                SYSTEM_BUNDLES,
                Duration.ofSeconds(20),
                Duration.ofSeconds(20),
                Map.of(),
                registry,
                OsgiSettings.UnrecordedInputs.LEFT_ALONE,
                interceptors,
                Optional.of(brokers));
    }

    /** One whose bundles serve a worker, and convert for it. */
    TestNode(Path directory, HandlerRegistry registry, Worker worker) throws IOException {
        this(
                directory,
                SYSTEM_BUNDLES,
                Duration.ofSeconds(20),
                Duration.ofSeconds(20),
                Map.of(),
                registry,
                OsgiSettings.UnrecordedInputs.LEFT_ALONE,
                worker.interceptors(),
                Optional.of(worker.brokers()),
                Optional.of(worker.devices()),
                Host.real());
    }

    /** One that notes what handlers read by themselves. */
    static TestNode watching(Path directory) throws IOException {
        return new TestNode(
                directory,
                SYSTEM_BUNDLES,
                Duration.ofSeconds(20),
                Duration.ofSeconds(20),
                Map.of(),
                newRegistry(),
                OsgiSettings.UnrecordedInputs.NOTED,
                uncalled(),
                Optional.empty());
    }

    private static HandlerRegistry newRegistry() {
        return newRegistry(Host.real());
    }

    private static HandlerRegistry newRegistry(Host machine) {
        return new HandlerRegistry(ParkingSettings.DEFAULT, machine.threads(), machine.clock());
    }

    /** One on a host of the test's. */
    static TestNode on(Host machine, Path directory, Duration startLimit) throws IOException {
        return new TestNode(
                directory,
                SYSTEM_BUNDLES,
                Duration.ofSeconds(20),
                startLimit,
                Map.of(),
                newRegistry(machine),
                OsgiSettings.UnrecordedInputs.LEFT_ALONE,
                uncalled(),
                Optional.empty(),
                Optional.empty(),
                machine);
    }

    TestNode(Path directory, HandlerRegistry registry, Duration drainLimit) throws IOException {
        this(directory, SYSTEM_BUNDLES, drainLimit, Duration.ofSeconds(20), Map.of(), registry);
    }

    private TestNode(
            Path directory, Path bundles, Duration drainLimit, Duration startLimit, Map<String, String> framework)
            throws IOException {
        this(directory, bundles, drainLimit, startLimit, framework, newRegistry());
    }

    private TestNode(
            Path directory,
            Path bundles,
            Duration drainLimit,
            Duration startLimit,
            Map<String, String> framework,
            HandlerRegistry registry)
            throws IOException {
        this(
                directory,
                bundles,
                drainLimit,
                startLimit,
                framework,
                registry,
                OsgiSettings.UnrecordedInputs.LEFT_ALONE,
                uncalled(),
                Optional.empty());
    }

    private TestNode(
            Path directory,
            Path bundles,
            Duration drainLimit,
            Duration startLimit,
            Map<String, String> framework,
            HandlerRegistry registry,
            OsgiSettings.UnrecordedInputs unrecordedInputs,
            InterceptorRegistry interceptors,
            Optional<Brokers> brokers)
            throws IOException {
        this(
                directory,
                bundles,
                drainLimit,
                startLimit,
                framework,
                registry,
                unrecordedInputs,
                interceptors,
                brokers,
                Optional.empty(),
                Host.real());
    }

    private TestNode(
            Path directory,
            Path bundles,
            Duration drainLimit,
            Duration startLimit,
            Map<String, String> framework,
            HandlerRegistry registry,
            OsgiSettings.UnrecordedInputs unrecordedInputs,
            InterceptorRegistry interceptors,
            Optional<Brokers> brokers,
            Optional<DeviceRegistry> devices,
            Host machine)
            throws IOException {
        watched = directory.resolve("watched");
        conf = directory.resolve("conf");
        Files.createDirectories(conf);
        scripts = directory.resolve("scripts");
        this.registry = registry;
        OsgiSettings settings = OsgiSettings.builder(bundles, watched, directory, conf)
                .framework(framework)
                .limits(drainLimit, startLimit, Duration.ofSeconds(1))
                .lookInterval(Duration.ofMillis(50))
                .unrecordedInputs(unrecordedInputs)
                .build();
        DeviceConverters seen = new DeviceConverters() {
            @Override
            public void add(String deviceType, DeviceConverter converter) {
                converters.put(deviceType, converter);
            }

            @Override
            public void remove(String deviceType, DeviceConverter converter) {
                converters.remove(deviceType, converter);
            }
        };
        host = OsgiHost.start(
                settings, registry, devices.map(DeviceConverters::into).orElse(seen), interceptors, brokers, machine);
    }

    BundleControl bundles() {
        return host.bundles();
    }

    HandlerEntry entry(String operation) {
        byte[] name = operation.getBytes(StandardCharsets.UTF_8);
        return registry.table().forOperation(name, 0, name.length);
    }

    Absence absence(String operation) {
        return registry.table().absence(HandlerKey.parse(operation));
    }

    /** Calls an operation on its handler's executor. */
    CompletableFuture<RecordingOutbox> callAsync(String key, Map<String, Value> fields) {
        HandlerEntry entry = registry.table().forKey(HandlerKey.parse(key));
        CompletableFuture<RecordingOutbox> outcome = new CompletableFuture<>();
        if (entry == null || !entry.begin()) {
            return CompletableFuture.failedFuture(new IllegalStateException("no handler of " + key));
        }
        entry.executor().execute(() -> {
            Thread.currentThread().setContextClassLoader(entry.contextClassLoader());
            RecordingOutbox outbox = new RecordingOutbox();
            Throwable failure = null;
            try {
                entry.handler().handle(TestMessage.of(key, fields), outbox);
            } catch (Throwable e) {
                failure = e;
            } finally {
                Thread.currentThread().setContextClassLoader(TestNode.class.getClassLoader());
            }
            entry.end(failure == null ? Outcome.DONE : Outcome.FAILED);
            if (failure == null) {
                outcome.complete(outbox);
            } else {
                outcome.completeExceptionally(failure);
            }
        });
        return outcome;
    }

    RecordingOutbox call(String key, Map<String, Value> fields) {
        try {
            return callAsync(key, fields).orTimeout(20, TimeUnit.SECONDS).join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            throw new IllegalStateException(e.getCause());
        }
    }

    /** The text with which {@code text.count} is responded to. */
    String response() {
        return ((Value.Text) call("text.count", Map.of()).value()).value();
    }

    @Override
    public void close() {
        host.close();
    }
}
