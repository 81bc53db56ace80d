package io.waybill.broker;

import io.waybill.api.Caller;
import io.waybill.api.Rpc;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.broker.JoinedWorker;
import io.waybill.api.broker.ReplayRun;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.metrics.HomeMetrics;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.Peer;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Future;

/** Services that {@link Brokers} get from the worker, or from the stand-in for a worker in a replay. Thread-safe. */
public interface BrokerBackend {

    /** Returns the worker. */
    Incarnation self();

    /** Returns the caller for calls on behalf of no request. */
    Caller caller();

    /**
     * Returns the references and calls of operators on behalf of no request.
     *
     * @throws IllegalStateException when there are none
     */
    Rpc rpc();

    /** Returns whether this thread may wait for other workers. */
    boolean mayWait();

    /**
     * Waits until a future is done.
     *
     * @throws IllegalStateException when this thread may not wait
     */
    void await(Future<?> future) throws InterruptedException;

    /**
     * Returns the workers of the home that have not left, as of the last scan; the same list object as long as nothing
     * has changed.
     */
    List<Peer> peers();

    /** Returns a worker of the home, also one that has left; empty when it was removed, and in a replay. */
    default Optional<Peer> peer(int id) {
        return Optional.empty();
    }

    /** Returns an id that is never given again. */
    long nextId();

    /** Returns the replay that stands for a worker; empty in a worker. */
    default Optional<ReplayRun> replay() {
        return Optional.empty();
    }

    /**
     * Called with a phrase when an owner reads something that no record has. A replay notes it; a worker does nothing.
     */
    default void readUnrecorded(String what) {}

    /** Returns the metrics of the workers of the home; empty when they can't be read. */
    default Optional<HomeMetrics> metrics() {
        return Optional.empty();
    }

    /** Returns the home; empty in a replay. */
    default Optional<Home> home() {
        return Optional.empty();
    }

    /** Returns whether time passes, so that scheduled tasks run. */
    boolean runsTimers();

    /**
     * Returns the memory for tensors that are to be sent.
     *
     * @throws IllegalStateException in a replay
     */
    default TensorBuffers buffers() {
        throw new IllegalStateException("a replay has no buffers outside of a handler: use those of the outbox");
    }

    /** Returns the worker's directory; empty in a replay. */
    default Optional<Path> directory() {
        return Optional.empty();
    }

    /**
     * Joins the home as a further worker.
     *
     * @param owner of the joined worker's broker
     * @throws IllegalStateException in a replay
     */
    default JoinedWorker join(Provider owner, String name, OptionalInt id, List<String> keys, MessageHandler handler) {
        throw new IllegalStateException("no worker joins a replay, and " + owner + " wants to join " + name);
    }
}
