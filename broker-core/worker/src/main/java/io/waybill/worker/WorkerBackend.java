package io.waybill.worker;

import io.waybill.api.Caller;
import io.waybill.api.Rpc;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.broker.JoinedWorker;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.metrics.HomeMetrics;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.broker.BrokerBackend;
import io.waybill.broker.UniqueIds;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.Peer;
import io.waybill.home.WorkerDirectory;
import io.waybill.worker.call.Calls;
import io.waybill.worker.call.WorkerRpc;
import io.waybill.worker.metrics.PublishedMetrics;
import io.waybill.worker.peer.Links;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Future;

/** The parts of a worker that its brokers use. Thread-safe. */
final class WorkerBackend implements BrokerBackend {

    private final Incarnation self;
    private final Calls calls;
    private final WorkerRpc rpc;
    private final Links links;
    private final UniqueIds ids;
    private final HomeMetrics metrics;
    private final Path directory;
    private final Home home;
    private final TensorBuffers buffers;
    private final WorkerInNameOf.Origin origin;

    /** @param origin of the workers that it joins for owners */
    WorkerBackend(WorkerDirectory own, WorkerInNameOf.Origin origin, Calls calls, WorkerRpc rpc, Links links) {
        this.directory = own.path();
        this.home = own.home();
        this.buffers = links.transit().pool();
        this.origin = origin;
        this.self = new Incarnation(own.info(), own.epoch());
        this.calls = calls;
        this.rpc = rpc;
        this.links = links;
        this.ids = new UniqueIds(own);
        this.metrics = new PublishedMetrics(links::members, own.home().host().files());
    }

    @Override
    public Incarnation self() {
        return self;
    }

    @Override
    public Caller caller() {
        return calls;
    }

    @Override
    public Rpc rpc() {
        rpc.requireServing();
        return rpc;
    }

    @Override
    public boolean mayWait() {
        return calls.mayBlock();
    }

    @Override
    public void await(Future<?> future) throws InterruptedException {
        calls.await(future);
    }

    @Override
    public List<Peer> peers() {
        return links.members();
    }

    @Override
    public Optional<Peer> peer(int id) {
        try {
            return links.peer(id);
        } catch (IOException e) {
            throw new UncheckedIOException("worker " + id + " can't be looked up", e);
        }
    }

    @Override
    public long nextId() {
        return ids.next();
    }

    @Override
    public Optional<HomeMetrics> metrics() {
        return Optional.of(metrics);
    }

    @Override
    public Optional<Home> home() {
        return Optional.of(home);
    }

    @Override
    public boolean runsTimers() {
        return true;
    }

    @Override
    public TensorBuffers buffers() {
        return buffers;
    }

    @Override
    public Optional<Path> directory() {
        return Optional.of(directory);
    }

    @Override
    public JoinedWorker join(Provider owner, String name, OptionalInt id, List<String> keys, MessageHandler handler) {
        return origin.join(owner, name, id, keys, handler);
    }
}
