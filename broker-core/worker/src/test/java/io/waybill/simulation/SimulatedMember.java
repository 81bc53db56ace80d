package io.waybill.simulation;

import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.host.SimulatedProcess;
import io.waybill.host.Threads;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.intercept.Interceptors;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.read.QueueReader;
import io.waybill.rref.status.RRefCounters;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** One incarnation of a worker of a simulation, in a process of its own. <b>Threads.</b> The simulation's. */
final class SimulatedMember {

    private static final ExecutorSettings THREADS = new ExecutorSettings(2, 16, 100_000, 0, Duration.ofSeconds(1));
    private static final Duration DRAIN = Duration.ofSeconds(1);

    private final String name;
    private final SimulatedProcess process;
    private final HandlerRegistry registry;
    private final Worker worker;
    private final Map<String, Installed> installed = new LinkedHashMap<>();
    private Interceptors.Registration aroundCalls;
    private Interceptors.Registration aroundHandlers;
    private int versions;

    /** A handler with the threads of its provider. */
    private record Installed(HandlerRegistry.Registration registration, HandlerExecutor executor) {}

    SimulatedMember(String name, SimulatedProcess process, Path home, WorkerSettings settings) throws IOException {
        this.name = name;
        this.process = process;
        this.registry = new HandlerRegistry(
                ParkingSettings.DEFAULT,
                process.host().threads(),
                process.host().clock());
        registry.expectMore();
        this.worker = Worker.join(Home.open(home, process.host()), name, JoinOptions.defaults(), settings, registry);
    }

    void ready() throws IOException {
        registry.expectNoMore();
        worker.ready(Map.of());
    }

    String name() {
        return name;
    }

    Worker worker() {
        return worker;
    }

    SimulatedProcess process() {
        return process;
    }

    Threads threads() {
        return process.host().threads();
    }

    void install(String operation, MessageHandler handler, boolean nonBlocking) {
        Provider provider = new Provider(name + "-" + operation, "1.0." + versions++);
        HandlerExecutor executor = registry.newExecutor(provider, THREADS);
        HandlerRegistry.Registration registration = registry.add(new HandlerSpec(
                List.of(HandlerKey.parse(operation)),
                handler,
                nonBlocking,
                provider,
                0,
                SimulatedMember.class.getClassLoader(),
                executor));
        installed.put(operation, new Installed(registration, executor));
    }

    /** Takes a handler out, and waits for what it has begun. */
    void remove(String operation) {
        Installed old = installed.remove(operation);
        if (old != null) {
            old.registration().withdraw(DRAIN);
            old.executor().close(DRAIN);
        }
    }

    /** Puts interceptors around its calls and handlers. */
    void intercept(SimulatedInterceptors around) {
        Provider provider = new Provider(name + "-interceptors", "1.0." + versions++);
        aroundHandlers = worker.interceptors().handlers().add(InterceptorSpec.ofAll(around, provider));
        aroundCalls = worker.interceptors().calls().add(InterceptorSpec.ofAll(around, provider));
    }

    /** Takes them out, and waits for the calls that they have begun. */
    void interceptNothing() {
        aroundCalls.withdraw(DRAIN);
        aroundHandlers.withdraw(DRAIN);
    }

    /** Returns each count that is not zero. */
    List<String> counts() {
        List<String> counts = new ArrayList<>();
        if (worker.pendingCalls() != 0) {
            counts.add(name + ": " + worker.pendingCalls() + " calls in flight");
        }
        for (HandlerStatus status : registry.statuses()) {
            if (status.inFlight() != 0 || status.parked() != 0 || status.stuck() != 0) {
                counts.add(name + ": " + status);
            }
        }
        if (registry.parkedRequests() != 0) {
            counts.add(name + ": " + registry.parkedRequests() + " parked");
        }
        if (Workers.takenSlots(worker) != 0 || Workers.leases(worker) != 0 || Workers.exchanges(worker) > 1) {
            counts.add(name + ": " + Workers.takenSlots(worker) + " slots, " + Workers.leases(worker) + " leases, "
                    + Workers.exchanges(worker) + " exchanges");
        }
        for (Interceptors<?> each :
                List.of(worker.interceptors().calls(), worker.interceptors().handlers())) {
            each.statuses().stream()
                    .filter(status -> status.inFlight() != 0)
                    .forEach(status -> counts.add(name + ": " + status));
        }
        RRefCounters references = Workers.references(worker).counters();
        if (!references.isClean()) {
            counts.add(name + ": " + references);
        }
        return counts;
    }

    /** Returns each id that more than one record of its responses has. */
    Set<Long> respondedTwice() throws IOException {
        Set<Long> once = new HashSet<>();
        Set<Long> twice = new TreeSet<>();
        Path responses = JournalQueue.RESPONSES.in(worker.directory().path());
        try (QueueReader reader = QueueReader.open(responses, Host.real().files(), Simulation.JOURNAL)) {
            QueueReader.Step step = reader.next();
            while (step == QueueReader.Step.RECORD) {
                if (!once.add(reader.record().id())) {
                    twice.add(reader.record().id());
                }
                step = reader.next();
            }
        }
        return twice;
    }

    /** Leaves. */
    void close() throws IOException {
        worker.close();
        List.copyOf(installed.keySet()).forEach(this::remove);
    }

    /** Frees what a worker holds whose process was killed. */
    void discard() {
        Workers.discard(worker);
        installed.values().forEach(each -> each.executor().close(Duration.ZERO));
    }
}
