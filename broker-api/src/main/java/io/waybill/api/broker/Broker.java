package io.waybill.api.broker;

import io.waybill.api.CallException;
import io.waybill.api.Caller;
import io.waybill.api.ErrorCode;
import io.waybill.api.ResponseListener;
import io.waybill.api.Rpc;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.state.StatePolicy;
import io.waybill.api.state.StateStore;
import io.waybill.api.tensor.TensorBuffers;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Future;
import org.osgi.annotation.versioning.ProviderType;

/**
 * The worker that a bundle or a program runs in: its identity, calls outside of a handler, peers, timers, ids and counters.
 *
 * <p>In a node it is an OSGi service, which a component gets by {@code @Reference Broker}. Each bundle has an object of its own. A program
 * gets one from its worker.
 *
 * <p><b>Revocation.</b> When the bundle stops, or gives the service back, its object is revoked; a program's is revoked when its worker
 * closes. Listeners and timers of it end then, callbacks that run are interrupted, futures of calls in flight and their listeners fail with a
 * {@link CallException} of {@link ErrorCode#CLOSED}, and references that it made and did not close are closed. From then on
 * {@link #caller} and {@link #rpc} fail with such a {@link CallException}, and every other method with an {@link IllegalStateException}.
 * A thread that waits inside a blocking call gets the outcome of that call.
 *
 * <p><b>Threads.</b> Thread-safe. Callbacks run on threads of the bundle's own, and may block. What a callback throws is logged and
 * counted, and has no other effect. Callbacks that don't return block only other callbacks of the same bundle, from the 64th on.
 */
@ProviderType
public interface Broker {

    /** Max workers that a bundle or a program has joined at a time. */
    int MAX_JOINED = 256;

    /** This worker, in its current incarnation. */
    Incarnation self();

    /** Calls of this bundle or program, on behalf of no request. Inside a handler use the outbox's, whose calls carry the request's id. */
    Caller caller();

    /**
     * Calls of operators and functions, and remote references, on behalf of no request. {@link Rpc#shutdown} is refused.
     *
     * @throws IllegalStateException when this worker only calls: others must be able to reach it
     */
    Rpc rpc();

    /** The other workers of the home that are there, as of the last look at the home. */
    List<Incarnation> peers();

    /**
     * Calls a listener for each other worker that is there, and then when workers come and go, until the subscription or the bundle ends.
     *
     * @throws IllegalStateException when there are 1,000 subscriptions
     */
    Subscription listen(PeerListener listener);

    /**
     * Runs a task once, not before the delay has passed, by the worker's monotonic clock. Several tasks may run at the same time.
     *
     * @param delay a negative one counts as zero
     * @throws IllegalStateException when 10,000 tasks are scheduled
     */
    ScheduledTask schedule(Duration delay, Runnable task);

    /**
     * An id that no worker of the home gives again, in any incarnation: this worker's id in the high 16 bits, a counter in the low 48.
     * Positive. Not recorded: a handler that puts one into its response can't be replayed with an equal result.
     *
     * @throws IllegalStateException when the worker's file of ids is damaged or can't be written
     */
    long nextId();

    /**
     * Returns whether this thread may wait for other workers: not the worker's poller, that is in a non-blocking handler or a
     * {@link ResponseListener}, where calls also don't wait for room.
     */
    boolean mayWait();

    /**
     * Waits until a future is done, and polls meanwhile as a blocking call does: no other thread has to be woken for what completes it. Any future,
     * such as one that the responses to several calls complete. Returns at once when it is done; its outcome is not looked at.
     *
     * @throws InterruptedException when this thread is interrupted before
     * @throws IllegalStateException when this thread {@linkplain #mayWait may not wait}
     */
    void await(Future<?> future) throws InterruptedException;

    /**
     * The wall clock of this worker, as in {@code Outbox.clock()}; clocks of the workers of one host agree. Not recorded: a handler uses that of its
     * outbox.
     */
    InstantSource clock();

    /**
     * A counter of this bundle or program. It keeps its count while the worker runs, also when the bundle is updated.
     *
     * @param name 1 to 64 of {@code a-z 0-9 . - _}
     * @throws IllegalStateException when the bundle has 256 other counters
     */
    Counter counter(String name);

    /**
     * Returns a store of this bundle or program, made when there is none. The next version of the bundle finds it again, by this name.
     *
     * @param name 1 to 64 of {@code a-z 0-9 . - _}
     * @throws IllegalStateException when the bundle has 256 other stores
     */
    StateStore state(String name);

    /** Returns a store as {@link #state(String)} does, and sets when it removes entries by itself. */
    StateStore state(String name, StatePolicy policy);

    /**
     * Allocator of memory from which this worker's calls send tensors without a copy.
     *
     * @throws IllegalStateException in a replay, where a handler uses that of its outbox
     */
    TensorBuffers buffers();

    /** The replay that the bundle runs in; empty in a worker. */
    Optional<ReplayRun> replay();

    /** This worker's own directory in the home, below which a bundle may make files of its own; empty in a replay, which has no home. */
    Optional<Path> directory();

    /**
     * Joins the home as a further worker, in the name of a process that can't join by itself. Its settings are those of this worker.
     *
     * @param id the wanted worker id; empty for the one that the name has, or the lowest free one
     * @param keys of what it serves, as in {@link HandlesMessage}; with none it serves only its references
     * @param handler called on threads of the joined worker
     * @throws IllegalArgumentException when a key is none, or the name or id can't be one
     * @throws CallException {@link ErrorCode#REFUSED} when a live worker has the name, or the home can't be joined
     * @throws IllegalStateException when there are {@value #MAX_JOINED}, and in a replay
     */
    JoinedWorker join(String name, OptionalInt id, List<String> keys, MessageHandler handler);
}
