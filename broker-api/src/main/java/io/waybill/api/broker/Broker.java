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
import java.util.function.LongSupplier;
import org.osgi.annotation.versioning.ProviderType;

/**
 * The worker around a bundle or a program: its identity, calls outside of a handler, peers, timers, ids and figures.
 *
 * <p>In a node it is an OSGi service, which a component obtains with {@code @Reference Broker}. Each bundle has its own
 * object. A program obtains one from its worker.
 *
 * <p><b>Revocation.</b> When the bundle stops or releases the service, its object is revoked; a program's object is
 * revoked when its worker closes. Revocation cancels its listeners and timers, interrupts running callbacks, fails the
 * futures and listeners of calls in flight with a {@link CallException} of {@link ErrorCode#CLOSED}, and closes the
 * references that it created and that are still open. From then on {@link #caller} and {@link #rpc} fail with the same
 * {@link CallException}, and every other method with an {@link IllegalStateException}. A blocking call that has begun
 * still returns its outcome.
 *
 * <p><b>Threads.</b> Thread-safe. Callbacks run on the bundle's own threads and may block. An exception from a callback
 * is logged and counted, and has no other effect. Callbacks that don't return block only other callbacks of the same
 * bundle, from the 64th on.
 */
@ProviderType
public interface Broker {

    /** Max workers that a bundle or a program may have joined at the same time. */
    int MAX_JOINED = 256;

    /** Returns this worker, in its current incarnation. */
    Incarnation self();

    /**
     * Returns a caller for calls of this bundle or program that belong to no request. Inside a handler, use the
     * outbox's caller, whose calls carry the request's id.
     */
    Caller caller();

    /**
     * Returns calls of operators and functions, and remote references, that belong to no request. {@link Rpc#shutdown}
     * is refused.
     *
     * @throws IllegalStateException if this worker only calls: other workers must be able to reach it
     */
    Rpc rpc();

    /** Returns the other live workers of the home, as of the last scan of the home. */
    List<Incarnation> peers();

    /**
     * Notifies a listener of each other live worker, and then of workers that join and leave, until the subscription is
     * closed or the bundle stops.
     *
     * @throws IllegalStateException when there are 1,000 subscriptions
     */
    Subscription listen(PeerListener listener);

    /**
     * Schedules a task to run once, after the delay has passed on the worker's monotonic clock. Several tasks may run
     * at the same time.
     *
     * @param delay a negative one counts as zero
     * @throws IllegalStateException if 10,000 tasks are scheduled
     */
    ScheduledTask schedule(Duration delay, Runnable task);

    /**
     * Returns a positive id that no worker of the home returns again, in any incarnation: this worker's id in the high
     * 16 bits, a counter in the low 48. Not recorded: a handler that puts one into its response can't be replayed with
     * an equal result.
     *
     * @throws IllegalStateException if the worker's file of ids is damaged or can't be written
     */
    long nextId();

    /**
     * Returns whether the calling thread may wait for other workers. The worker's poller may not, in a non-blocking
     * handler or a {@link ResponseListener}; its calls also don't wait for room.
     */
    boolean mayWait();

    /**
     * Waits until a future is done and polls meanwhile, as a blocking call does, so the completion needs no switch to
     * another thread. Accepts any future, such as one that combines the responses to several calls. Returns immediately
     * if it is done; ignores its outcome.
     *
     * @throws InterruptedException if this thread is interrupted first
     * @throws IllegalStateException if this thread {@linkplain #mayWait may not wait}
     */
    void await(Future<?> future) throws InterruptedException;

    /**
     * Returns the wall clock of this worker, like {@code Outbox.clock()}; the clocks of all workers of a host agree.
     * Not recorded: a handler uses its outbox's clock.
     */
    InstantSource clock();

    /**
     * Returns a counter of this bundle or program. It keeps its count while the worker runs, also across updates of the
     * bundle.
     *
     * @param name 1 to 64 of {@code a-z 0-9 . - _}
     * @throws IllegalStateException if the bundle has 256 other counters
     */
    Counter counter(String name);

    /**
     * Adds a gauge of this bundle or program: a number that the worker publishes with its own figures, until the
     * subscription is closed or the bundle stops. A gauge of the same name is replaced. The supplier is called on one of
     * the bundle's threads each time that the worker publishes: once a second, every five seconds at rest; in a replay
     * never.
     *
     * <p><b>Errors.</b> While the supplier throws, or has not returned for 15 s, the gauge has no value. After 10
     * exceptions in a row it is closed.
     *
     * @param name 1 to 64 of {@code a-z 0-9 . - _}, with the unit if there is one
     * @throws IllegalStateException if the bundle has 64 other gauges
     */
    Subscription gauge(String name, LongSupplier value);

    /**
     * Returns a store of this bundle or program, and creates it if it does not exist. The next version of the bundle
     * gets the same store by this name.
     *
     * @param name 1 to 64 of {@code a-z 0-9 . - _}
     * @throws IllegalStateException if the bundle has 256 other stores
     */
    StateStore state(String name);

    /** Returns a store like {@link #state(String)}, and sets when it removes entries by itself. */
    StateStore state(String name, StatePolicy policy);

    /**
     * Returns an allocator of memory from which this worker's calls send tensors without a copy.
     *
     * @throws IllegalStateException in a replay, where a handler uses its outbox's allocator
     */
    TensorBuffers buffers();

    /** Returns the replay that the bundle runs in; empty in a worker. */
    Optional<ReplayRun> replay();

    /**
     * Returns this worker's own directory in the home, where a bundle may create its own files; empty in a replay,
     * which has no home.
     */
    Optional<Path> directory();

    /**
     * Joins the home as a further worker, on behalf of a process that can't join by itself. Its settings are those of
     * this worker.
     *
     * @param id the requested worker id; empty for the name's previous id, or the lowest free one
     * @param keys operations and types to serve, as in {@link HandlesMessage}; without any it serves only its
     *     references
     * @param handler called on threads of the joined worker
     * @throws IllegalArgumentException if a key, the name or the id is invalid
     * @throws CallException {@link ErrorCode#REFUSED} if a live worker has the name, or the home can't be joined
     * @throws IllegalStateException if {@value #MAX_JOINED} workers are joined, and in a replay
     */
    JoinedWorker join(String name, OptionalInt id, List<String> keys, MessageHandler handler);
}
