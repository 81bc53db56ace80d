package io.waybill.worker.serve;

import io.waybill.api.Caller;
import io.waybill.api.Rpc;
import io.waybill.api.handler.RequestArrival;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.exchange.HandlerServices;
import io.waybill.wire.Observations;
import io.waybill.worker.call.NestedCaller;
import java.time.InstantSource;
import java.util.random.RandomGenerator;

/**
 * The calls that a handler makes on behalf of a peer's request, and the inputs that a replay must reproduce. Pooled
 * with the {@link PeerRequest}.
 *
 * <p><b>Threads.</b> Belongs to the thread of the handler while it runs; {@link #id} and {@link #deadlineNs} are read
 * by any.
 */
final class PeerServices implements HandlerServices {

    private final ServingContext context;
    private final PeerRequest request;
    private final NestedCaller caller;
    private Rpc rpc; // calls on behalf of the caller; null until a handler wants them
    private Observer observer; // clock of the handler; null until it reads the clock or random numbers

    PeerServices(ServingContext context, PeerRequest request) {
        this.context = context;
        this.request = request;
        this.caller = new NestedCaller(context.calls());
    }

    /** Begins a request. */
    void open(long id, long deadlineNs) {
        caller.open(id, deadlineNs);
    }

    /** Ends the request. */
    void close() {
        caller.close();
        if (observer != null) {
            observer = null;
        }
    }

    /** Returns the id of the request; {@link io.waybill.api.MessageId#NONE} when it has ended. */
    long id() {
        return caller.id();
    }

    long deadlineNs() {
        return caller.deadlineNs();
    }

    /** Ends the recording of the handler's observations, and returns them in record format. */
    byte[] observed() {
        return observer == null ? Observations.NO_BYTES : observer.end();
    }

    private synchronized Observer observer() { // the handlers of dispatched messages share it
        if (observer == null) {
            observer = new Observer(context.clock(), request.view().id());
        }
        return observer;
    }

    @Override
    public Caller caller() {
        return caller;
    }

    @Override
    public Rpc rpc() {
        if (rpc == null) {
            rpc = context.rpcFor(caller);
        }
        return rpc;
    }

    @Override
    public TensorBuffers buffers() {
        return context.transit().pool();
    }

    @Override
    public InstantSource clock() {
        return observer();
    }

    @Override
    public RequestArrival arrival() {
        return observer().arrival(request);
    }

    @Override
    public RandomGenerator random() {
        return observer().random();
    }

    @Override
    public long leftNs(long deadlineNs) {
        return observer().leftNs(deadlineNs);
    }
}
