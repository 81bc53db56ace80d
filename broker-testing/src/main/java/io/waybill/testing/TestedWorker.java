package io.waybill.testing;

import io.waybill.api.handler.Delivery;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A worker of a test in this JVM, with the handlers that the test added. One thread at a time; its creator closes it.
 */
final class TestedWorker implements TestedMember {

    private static final Duration DRAIN_LIMIT = Duration.ofSeconds(3);
    private static final WorkerSettings SETTINGS = WorkerSettings.builder()
            .journal(new JournalSettings(Roll.HOURLY, 4 << 20, 1 << 20, 4 << 20))
            .drainLimit(DRAIN_LIMIT)
            .build();

    private final Path home;
    private final String name;
    private final Host on;
    private final WorkerSetup setup;
    private final List<HandlerExecutor> executors = new ArrayList<>();
    private final List<HandlerSpec> added = new ArrayList<>();
    private HandlerRegistry registry;
    private Worker worker;
    private boolean isReady;

    private TestedWorker(Path directory, String name, Host on, WorkerSetup setup) {
        this.home = directory.resolve("home");
        this.name = name;
        this.on = on;
        this.setup = setup;
    }

    /**
     * Joins the home. With bundles to come, its requests wait for their handlers.
     *
     * @param directory of the broker
     */
    static TestedWorker join(Path directory, String name, Host on, WorkerSetup setup) throws IOException {
        TestedWorker joined = new TestedWorker(directory, name, on, setup);
        joined.newRegistry();
        setup.newHandlers().forEach((key, handler) -> joined.handle(HandlerKey.parse(key), handler));
        joined.join();
        return joined;
    }

    private void newRegistry() {
        registry = new HandlerRegistry(ParkingSettings.DEFAULT, on.threads(), on.clock());
        if (setup.isNode()) {
            registry.expectMore();
        }
    }

    private void join() throws IOException {
        WorkerSettings settings = SETTINGS.toBuilder().devices(setup.devices()).build();
        worker = Worker.join(Home.open(home, on), name, JoinOptions.defaults(), settings, registry);
    }

    /** Joins again after a close, with the handlers that it had: they are there before the first request is read. */
    void rejoin() throws IOException {
        List<HandlerSpec> before = List.copyOf(added);
        added.clear();
        executors.clear();
        newRegistry();
        before.forEach(spec -> handle(spec.keys().get(0), spec.handler()));
        join();
    }

    @Override
    public void restart() throws IOException {
        close();
        rejoin();
        ready();
    }

    /** Announces the worker, and the handlers that it has, to the others. */
    void ready() throws IOException {
        worker.ready(Map.of());
        isReady = true;
    }

    Worker worker() {
        return worker;
    }

    HandlerRegistry registry() {
        return registry;
    }

    /** Adds a handler with the delivery that its class declares. */
    void handle(HandlerKey key, MessageHandler handler) {
        Provider test = new Provider("test", Integer.toString(executors.size()));
        HandlerExecutor executor = registry.newExecutor(test, ExecutorSettings.forProcessors(2));
        executors.add(executor);
        Delivery declared = handler.getClass().getAnnotation(Delivery.class);
        DeliveryPolicy delivery =
                declared == null ? DeliveryPolicy.AT_MOST_ONCE : DeliveryPolicy.parse(declared.value());
        HandlerSpec spec = HandlerSpec.of(key, handler, test, executor).withDelivery(delivery);
        added.add(spec);
        registry.add(spec);
        if (isReady) {
            announce();
        }
    }

    private void announce() {
        try {
            ready();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the handlers that the test added. */
    List<HandlerSpec> added() {
        return List.copyOf(added);
    }

    @Override
    public TestedWorker here() {
        return this;
    }

    @Override
    public void kill() {
        throw new IllegalArgumentException("worker " + name + " can't be killed: expected a worker in a process of its"
                + " own, found one in the JVM of the test, which would end too; start it by startProcess");
    }

    @Override
    public void close() throws IOException {
        isReady = false;
        try {
            worker.close();
        } finally {
            executors.forEach(executor -> executor.close(DRAIN_LIMIT));
        }
    }
}
