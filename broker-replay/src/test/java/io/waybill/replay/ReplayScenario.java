package io.waybill.replay;

import io.waybill.api.WorkerInfo;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Who handles what in a test, once among real workers and then in a replay. */
final class ReplayScenario implements HandlerSource {

    private record Part(String key, MessageHandler handler, boolean nonBlocking) {}

    private final Map<String, List<Part>> parts = new LinkedHashMap<>();

    /** A handler of a worker's. */
    ReplayScenario handles(String worker, String key, MessageHandler handler) {
        return add(worker, new Part(key, handler, false));
    }

    /** One that does not block. */
    ReplayScenario handlesOnPoller(String worker, String key, MessageHandler handler) {
        return add(worker, new Part(key, handler, true));
    }

    private ReplayScenario add(String worker, Part part) {
        parts.computeIfAbsent(worker, name -> new ArrayList<>()).add(part);
        return this;
    }

    /** What a worker that only calls does in a recorded home. */
    @FunctionalInterface
    interface Program {
        void run(Worker caller) throws Exception;
    }

    /** Lets real workers play, and returns the home that they left. The caller is named caller. */
    Path record(Path directory, Program program) throws Exception {
        try (Workers workers = new Workers(directory)) {
            for (String name : parts.keySet()) {
                HandlerRegistry registry = workers.registry();
                fill(registry, name);
                workers.join(name, registry);
            }
            program.run(workers.join("caller"));
            return workers.home.path();
        }
    }

    @Override
    public void fill(HandlerRegistry registry, WorkerInfo worker) {
        fill(registry, worker.name());
    }

    private void fill(HandlerRegistry registry, String worker) {
        for (Part part : parts.getOrDefault(worker, List.of())) {
            Provider provider = new Provider("test-" + part.key().replace(':', '-'), "1.0.0");
            HandlerExecutor executor = registry.newExecutor(provider, ExecutorSettings.forProcessors(2));
            registry.add(new HandlerSpec(
                    List.of(HandlerKey.parse(part.key())),
                    part.handler(),
                    part.nonBlocking(),
                    provider,
                    0,
                    ReplayScenario.class.getClassLoader(),
                    executor));
        }
    }

    /** A replay of a home with these. */
    Replay replay(Path home) throws IOException {
        return Replay.of(home).with("played", this);
    }
}
