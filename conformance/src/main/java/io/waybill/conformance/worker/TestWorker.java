package io.waybill.conformance.worker;

import io.waybill.api.Caller;
import io.waybill.api.Rpc;
import io.waybill.api.Value;
import io.waybill.cli.node.Node;
import io.waybill.cli.node.NodeConf;
import io.waybill.conformance.cases.WorkerSpec;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import io.waybill.host.Clock;
import io.waybill.host.Host;
import io.waybill.journal.JournalSettings;
import io.waybill.tensor.HostMemory;
import io.waybill.tensor.memory.NativeMemory;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.metrics.WorkerCounters;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The worker that steps run on, and what they may do with it.
 *
 * <p><b>Threads.</b> One. <b>Ownership.</b> {@link #leave} closes it; further calls do nothing.
 */
final class TestWorker {

    private static final String VERSION = "conformance";
    private static final long PAUSE_NS = 2_000_000;
    private static final long RESERVE_BYTES = 1 << 20;

    private final Worker worker;
    private final Host host;
    private final Operations operations;
    private final AutogradProgram autograd; // null unless the worker is of that kind
    private Closeable open;

    private TestWorker(Worker worker, Closeable open, HandlerRegistry registry, AutogradProgram autograd) {
        this.worker = worker;
        this.autograd = autograd;
        this.open = open;
        this.host = worker.directory().home().host();
        this.operations = new Operations(worker.info());
        operations.publish(registry, VERSION);
    }

    /**
     * Joins the home.
     *
     * @param id unless the spec has another
     * @param scripts the directory of those that a node serves
     */
    static TestWorker join(Home home, Path distribution, String name, int id, WorkerSpec spec, Path scripts)
            throws IOException {
        JoinOptions options = JoinOptions.defaults().withVersion(VERSION).withId(spec.id() == null ? id : spec.id());
        if (spec.kind() != WorkerSpec.Kind.NODE) {
            WorkerSettings settings = settings(WorkerSettings.defaults(), spec);
            HandlerRegistry registry = new HandlerRegistry(
                    settings.parking(), home.host().threads(), home.host().clock());
            Worker worker = Worker.join(home, name, options, settings, registry);
            AutogradProgram autograd = spec.kind() == WorkerSpec.Kind.AUTOGRAD
                    ? AutogradProgram.install(worker, registry, distribution)
                    : null;
            TestWorker joined = new TestWorker(worker, worker::close, registry, autograd);
            worker.ready(Map.of());
            return joined;
        }
        NodeConf read = NodeConf.read(distribution.resolve("conf"));
        NodeConf conf = new NodeConf(
                read.directory(),
                read.settings()
                        .withWorker(settings(read.settings().worker(), spec))
                        .withScripts(scripts.toAbsolutePath()),
                read.framework());
        Node node = Node.start(home, name, options, distribution, conf, Optional.empty());
        return new TestWorker(node.worker(), node::close, node.handlers(), null);
    }

    private static WorkerSettings settings(WorkerSettings settings, WorkerSpec spec) {
        return settings.toBuilder()
                .defaultTimeout(spec.timeout() == null ? settings.defaultTimeout() : spec.timeout())
                .injection(spec.injection())
                .build();
    }

    Caller caller() {
        return worker;
    }

    Rpc rpc() {
        return worker.rpc();
    }

    /** Returns what a worker with autograd has; null for another. */
    AutogradProgram autograd() {
        return autograd;
    }

    Operations operations() {
        return operations;
    }

    Clock clock() {
        return host.clock();
    }

    HostMemory newMemory() {
        return new HostMemory(new NativeMemory(host.calls()));
    }

    void pause() {
        host.threads().pause(PAUSE_NS);
    }

    /** All counters, as a dict of ints. */
    Value counters() {
        WorkerCounters counters = worker.counters();
        Map<Value, Value> all = new LinkedHashMap<>();
        all.put(Value.of("pending_calls"), Value.of((long) worker.pendingCalls()));
        all.put(Value.of("timeouts"), Value.of(counters.timeouts()));
        all.put(Value.of("late_responses"), Value.of(counters.lateResponses()));
        all.put(Value.of("requests_begun"), Value.of(counters.requestsBegun()));
        all.put(Value.of("requests_expired"), Value.of(counters.requestsExpired()));
        all.put(Value.of("requests_parked"), Value.of(counters.requestsParked()));
        worker.rpc().debugInfo().forEach((name, count) -> all.put(Value.of(name), Value.of(Long.parseLong(count))));
        return new Value.Dict(all);
    }

    /** Live workers: ids by name, as a dict. */
    Value members() throws IOException {
        Membership membership = new Membership(worker.directory().home());
        membership.refresh();
        Map<Value, Value> ids = new TreeMap<>(Comparator.comparing(Value::toString));
        for (Peer peer : membership.members().all()) {
            if (peer.state() == PeerState.READY) {
                ids.put(Value.of(peer.name()), Value.of((long) peer.id()));
            }
        }
        return new Value.Dict(ids);
    }

    /** Joins the home under another name, as a worker of its own, and leaves at once. Returns the name. */
    Value joinAgain(String name, int id) throws IOException {
        WorkerSettings settings = WorkerSettings.builder()
                .role(WorkerSettings.Role.CALLS_ONLY)
                .journal(JournalSettings.defaults().withReserveBytes(RESERVE_BYTES))
                .build();
        HandlerRegistry none = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        JoinOptions options = JoinOptions.defaults().withId(id);
        try (Worker other = Worker.join(worker.directory().home(), name, options, settings, none)) {
            return Value.of(other.info().name());
        }
    }

    void leave() throws IOException {
        Closeable closing = open;
        open = () -> {};
        closing.close();
    }
}
