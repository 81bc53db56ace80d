package io.waybill.testing;

import io.waybill.api.handler.MessageHandler;
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
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A worker of a test, with the handlers that the test added. One thread at a time; its creator closes it. */
final class TestedWorker implements AutoCloseable {

    private static final Duration DRAIN_LIMIT = Duration.ofSeconds(3);
    private static final WorkerSettings SETTINGS = WorkerSettings.builder()
            .journal(new JournalSettings(Roll.HOURLY, 4 << 20, 1 << 20, 4 << 20))
            .build();

    private final HandlerRegistry registry;
    private final Worker worker;
    private final List<HandlerExecutor> executors = new ArrayList<>();
    private final List<HandlerSpec> added = new ArrayList<>();

    private TestedWorker(HandlerRegistry registry, Worker worker) {
        this.registry = registry;
        this.worker = worker;
    }

    /**
     * Joins a home.
     *
     * @param expectsMore whether requests wait for handlers that are still to come
     */
    static TestedWorker join(Path home, String name, Host on, boolean expectsMore) throws IOException {
        HandlerRegistry registry = new HandlerRegistry(ParkingSettings.DEFAULT, on.threads(), on.clock());
        if (expectsMore) {
            registry.expectMore();
        }
        Worker joined = Worker.join(Home.open(home, on), name, JoinOptions.defaults(), SETTINGS, registry);
        return new TestedWorker(registry, joined);
    }

    /** Announces the worker to those who wait for it. */
    void ready() throws IOException {
        worker.ready(Map.of());
    }

    Worker worker() {
        return worker;
    }

    HandlerRegistry registry() {
        return registry;
    }

    void handle(HandlerKey key, MessageHandler handler) {
        Provider test = new Provider("test", Integer.toString(executors.size()));
        HandlerExecutor executor = registry.newExecutor(test, ExecutorSettings.forProcessors(2));
        executors.add(executor);
        HandlerSpec spec = HandlerSpec.of(key, handler, test, executor);
        added.add(spec);
        registry.add(spec);
    }

    /** Returns the handlers that the test added. */
    List<HandlerSpec> added() {
        return List.copyOf(added);
    }

    @Override
    public void close() throws IOException {
        try {
            worker.close();
        } finally {
            executors.forEach(executor -> executor.close(DRAIN_LIMIT));
        }
    }
}
