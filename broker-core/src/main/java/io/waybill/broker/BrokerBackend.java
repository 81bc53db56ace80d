package io.waybill.broker;

import io.waybill.api.Caller;
import io.waybill.api.Rpc;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.metrics.HomeMetrics;
import io.waybill.home.Peer;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Future;

/** What {@link Brokers} get from the worker, or from what stands for one in a replay. Thread-safe. */
public interface BrokerBackend {

    /** The worker. */
    Incarnation self();

    /** Calls on behalf of no request. */
    Caller caller();

    /**
     * References and calls of operators on behalf of no request.
     *
     * @throws IllegalStateException when there are none
     */
    Rpc rpc();

    /** Whether this thread may wait for other workers. */
    boolean mayWait();

    /**
     * Waits until a future is done.
     *
     * @throws IllegalStateException when this thread may not wait
     */
    void await(Future<?> future) throws InterruptedException;

    /** All workers of the home as of the last look; the same list object as long as nothing has changed. */
    List<Peer> peers();

    /** An id that is never given again. */
    long nextId();

    /** The figures of the workers of the home; empty in a replay. */
    default Optional<HomeMetrics> metrics() {
        return Optional.empty();
    }

    /** Whether time passes, so that scheduled tasks run. */
    boolean runsTimers();
}
