package io.waybill.replay;

import io.waybill.api.WorkerInfo;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.device.DeviceRegistry;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.intercept.InterceptorRegistry;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Who handles what in a test, once among real workers and then in a replay. */
final class ReplayScenario implements HandlerSource {

    private static final ExecutorSettings ANY_THREADS = ExecutorSettings.forProcessors(2);
    private static final ExecutorSettings ONE_THREAD = new ExecutorSettings(1, 1, 0, 0, Duration.ofSeconds(10));

    private record Part(String key, Supplier<MessageHandler> handler, boolean nonBlocking, ExecutorSettings threads) {}

    private final Map<String, List<Part>> parts = new LinkedHashMap<>();
    private final Map<String, List<Consumer<InterceptorRegistry>>> interceptors = new LinkedHashMap<>();
    private WorkerSettings settings = Workers.SETTINGS;
    private Consumer<DeviceRegistry> converters = devices -> {};

    /** A handler of a worker's. */
    ReplayScenario handles(String worker, String key, MessageHandler handler) {
        return add(worker, new Part(key, () -> handler, false, ANY_THREADS));
    }

    /** One that is made for each worker and each replay, and so begins without state. Its requests are handled one by one. */
    ReplayScenario handlesFromScratch(String worker, String key, Supplier<MessageHandler> handler) {
        return add(worker, new Part(key, handler, false, ONE_THREAD));
    }

    /** The converter of all workers, whose settings name its devices. */
    ReplayScenario converts(String type, DeviceConverter converter, WorkerSettings with) {
        converters = devices -> devices.register(type, converter);
        settings = with;
        return this;
    }

    /** Settings of all workers. */
    ReplayScenario with(WorkerSettings chosen) {
        settings = chosen;
        return this;
    }

    /** One that does not block. */
    ReplayScenario handlesOnPoller(String worker, String key, MessageHandler handler) {
        return add(worker, new Part(key, () -> handler, true, ANY_THREADS));
    }

    /** An interceptor around a worker's calls. */
    ReplayScenario interceptsCalls(String worker, String key, CallInterceptor interceptor) {
        return intercepts(worker, registry -> registry.calls().add(spec(key, interceptor)));
    }

    /** An interceptor around a worker's handlers. */
    ReplayScenario interceptsHandlers(String worker, String key, HandlerInterceptor interceptor) {
        return intercepts(worker, registry -> registry.handlers().add(spec(key, interceptor)));
    }

    /** One around a worker's handlers that is made for each worker and each replay. */
    ReplayScenario interceptsHandlersFromScratch(String worker, String key, Supplier<HandlerInterceptor> interceptor) {
        return intercepts(worker, registry -> registry.handlers().add(spec(key, interceptor.get())));
    }

    private ReplayScenario intercepts(String worker, Consumer<InterceptorRegistry> added) {
        interceptors.computeIfAbsent(worker, name -> new ArrayList<>()).add(added);
        return this;
    }

    private static <T> InterceptorSpec<T> spec(String key, T interceptor) {
        return new InterceptorSpec<>(
                List.of(HandlerKey.parse(key)), interceptor, new Provider("test-interceptor", "1.0.0"), 0);
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
                Worker worker = workers.join(name, registry, settings);
                intercept(worker.interceptors(), name);
                converters.accept(worker.devices());
            }
            Worker caller = workers.join("caller", workers.registry(), settings);
            converters.accept(caller.devices());
            program.run(caller);
            return workers.home.path();
        }
    }

    @Override
    public void fill(HandlerRegistry registry, WorkerInfo worker) {
        fill(registry, worker.name());
    }

    @Override
    public void intercept(InterceptorRegistry registry, WorkerInfo worker) {
        intercept(registry, worker.name());
    }

    @Override
    public void convert(DeviceRegistry devices, WorkerInfo worker) {
        converters.accept(devices);
    }

    private void intercept(InterceptorRegistry registry, String worker) {
        interceptors.getOrDefault(worker, List.of()).forEach(added -> added.accept(registry));
    }

    private void fill(HandlerRegistry registry, String worker) {
        for (Part part : parts.getOrDefault(worker, List.of())) {
            Provider provider = new Provider("test-" + part.key().replace(':', '-'), "1.0.0");
            HandlerExecutor executor = registry.newExecutor(provider, part.threads());
            registry.add(new HandlerSpec(
                    List.of(HandlerKey.parse(part.key())),
                    part.handler().get(),
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
