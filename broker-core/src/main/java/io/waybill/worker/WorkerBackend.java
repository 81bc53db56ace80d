package io.waybill.worker;

import io.waybill.api.Caller;
import io.waybill.api.Rpc;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.metrics.HomeMetrics;
import io.waybill.broker.BrokerBackend;
import io.waybill.broker.UniqueIds;
import io.waybill.home.Peer;
import io.waybill.home.WorkerDirectory;
import io.waybill.worker.call.Calls;
import io.waybill.worker.call.WorkerRpc;
import io.waybill.worker.metrics.PublishedMetrics;
import io.waybill.worker.peer.Links;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Future;

/** What the brokers of a worker use of it. Thread-safe. */
final class WorkerBackend implements BrokerBackend {

    private final Incarnation self;
    private final Calls calls;
    private final WorkerRpc rpc;
    private final Links links;
    private final UniqueIds ids;
    private final HomeMetrics metrics;

    WorkerBackend(WorkerDirectory directory, Calls calls, WorkerRpc rpc, Links links) {
        this.self = new Incarnation(directory.info(), directory.epoch());
        this.calls = calls;
        this.rpc = rpc;
        this.links = links;
        this.ids = new UniqueIds(directory);
        this.metrics =
                new PublishedMetrics(links::members, directory.home().host().files());
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
    public long nextId() {
        return ids.next();
    }

    @Override
    public Optional<HomeMetrics> metrics() {
        return Optional.of(metrics);
    }

    @Override
    public boolean runsTimers() {
        return true;
    }
}
