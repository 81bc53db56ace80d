package io.waybill.broker;

import io.waybill.api.Caller;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Rpc;
import io.waybill.api.WorkerInfo;
import io.waybill.api.broker.Incarnation;
import io.waybill.home.Peer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** A worker whose calls have no outcome until the test gives one. */
public class TestBackend implements BrokerBackend, Caller {

    final List<CompletableFuture<Response>> futures = new CopyOnWriteArrayList<>();
    final List<ResponseListener> listeners = new CopyOnWriteArrayList<>();
    final List<String> unrecorded = new CopyOnWriteArrayList<>(); // what owners read, as a replay would note it
    final AtomicInteger comparisons = new AtomicInteger(); // how often the workers were listed

    @Override
    public Incarnation self() {
        return new Incarnation(new WorkerInfo(3, "self"), 2);
    }

    @Override
    public Caller caller() {
        return this;
    }

    @Override
    public Rpc rpc() {
        throw new IllegalStateException("only calls");
    }

    @Override
    public boolean mayWait() {
        return true;
    }

    @Override
    public void await(Future<?> future) {
        throw new IllegalStateException("not here");
    }

    @Override
    public List<Peer> peers() {
        comparisons.incrementAndGet();
        return new ArrayList<>();
    }

    @Override
    public void readUnrecorded(String what) {
        unrecorded.add(what);
    }

    @Override
    public long nextId() {
        return 1;
    }

    @Override
    public boolean runsTimers() {
        return true;
    }

    @Override
    public Response call(Request request) {
        throw new IllegalStateException("not here");
    }

    @Override
    public CompletableFuture<Response> callAsync(Request request) {
        CompletableFuture<Response> future = new CompletableFuture<>();
        futures.add(future);
        return future;
    }

    @Override
    public long call(Request request, ResponseListener listener) {
        listeners.add(listener);
        return listeners.size();
    }
}
