package io.waybill.worker;

import io.waybill.api.Caller;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Rpc;
import io.waybill.api.WorkerInfo;
import io.waybill.api.admin.HandlerInfo;
import io.waybill.api.broker.Broker;
import io.waybill.api.metrics.HomeMetrics;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.archive.ArchiveStatus;
import io.waybill.broker.Brokers;
import io.waybill.broker.OwnedBroker;
import io.waybill.device.DeviceRegistry;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.Provider;
import io.waybill.event.CallListeners;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.Membership;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.WorkerRecord;
import io.waybill.home.WorkerState;
import io.waybill.home.error.HomeException;
import io.waybill.host.Threads;
import io.waybill.intercept.InterceptorRegistry;
import io.waybill.journal.recover.QueueBeginning;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.publish.QueueAppender;
import io.waybill.worker.recover.EarlierCalls;
import io.waybill.worker.recover.OutcomeClaim;
import io.waybill.worker.upkeep.MetricsPublisher;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A process that joined a home under a name. It calls other workers, and serves their calls with the handlers of its
 * registry. Works with and without OSGi.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> The program that joined closes it.
 */
public final class Worker implements Caller, AutoCloseable {

    /** The program as an owner; no bundle's name has parentheses. */
    private static final String PROGRAM = "(program)";

    private static final Logger LOG = LoggerFactory.getLogger(Worker.class);

    final WorkerParts parts;
    private final WorkerClosing closing;
    private final ServedKeys served;
    private final OwnedBroker broker;
    private final MetricsPublisher publisher;
    private final CompletableFuture<IOException> failure = new CompletableFuture<>();

    private Worker(WorkerParts parts) {
        this.parts = parts;
        this.publisher = new MetricsPublisher(parts.directory, parts.counters, parts.links, new WorkerValues(parts));
        this.closing = new WorkerClosing(parts, publisher);
        this.served = new ServedKeys(parts.registry);
        this.broker = parts.brokers.open(new Provider(PROGRAM, parts.directory.name()));
    }

    /**
     * Joins a home. The worker calls and serves from now on; its state is <i>starting</i> until {@link #ready}.
     *
     * @throws io.waybill.home.error.NameTakenException when a live worker has the name
     * @throws IOException when the home or the worker's directory can't be used
     * @throws IllegalArgumentException when the devices or device maps of the settings are wrong
     */
    public static Worker join(
            Home home, String name, JoinOptions options, WorkerSettings settings, HandlerRegistry registry)
            throws IOException {
        WorkerParts.Opened opened = new WorkerParts.Opened();
        Worker worker = null;
        try {
            WorkerSettings used = settings.in(home);
            used.devices().require(name);
            WorkerDirectory directory = opened.add(
                    home.join(name, options.withPublished(used.devices().published())));
            OpenedQueues queues = OpenedQueues.open(opened, directory, used);
            worker = new Worker(new WorkerParts(opened, directory, used, registry, queues));
            worker.parts.start(worker::failed);
            worker.publisher.start(worker.parts.upkeep.housekeeper);
            return worker;
        } catch (Throwable e) { // also when the host can't start more threads: the name must be released
            if (worker == null) {
                opened.closeAfter(e);
            } else {
                worker.closing.closeAfter(e);
            }
            explain(name, e);
            throw e;
        }
    }

    /**
     * Throws a {@link HomeException} in place of the error that ended a join, if that error does not explain the
     * failure to the program.
     */
    private static void explain(String name, Throwable e) throws HomeException {
        if (e instanceof InternalError) { // a fault in a mapped file, which JDK 17 may report late
            throw new HomeException(
                    "a fault in a mapped file of worker " + name + ", whose disk is full or failed: " + e.getMessage(),
                    e);
        }
        if (e instanceof Threads.RefusedException) {
            throw new HomeException("worker " + name + " can't join: " + e.getMessage(), e);
        }
    }

    /**
     * Stops the worker after a failure of its journal, such as a failed sync or a lost file, and completes the futures
     * that wait for it.
     */
    private void failed(IOException cause) {
        for (QueueAppender appender : List.of(parts.requestAppender, parts.responseAppender)) {
            try {
                QueueBeginning.failed(appender.journal().directory(), parts.host.files());
            } catch (IOException e) {
                LOG.warn(
                        "It could not be noted that {} is no longer proved to be on the disk",
                        appender.journal().directory(),
                        e);
            }
        }
        // after the note for the next process: an operator may kill this one when the line appears
        LOG.error("Worker {} stops, because {}", parts.directory.name(), cause.getMessage());
        parts.calling.writer.fail("the journal of worker " + parts.directory.name() + " failed: " + cause.getMessage());
        try {
            closing.close(Duration.ZERO); // no response can be written from now on
        } catch (Throwable e) { // the failure is reported in any case
            LOG.warn("Worker {} could not leave in order after its journal failed", parts.directory.info(), e);
        } finally {
            failure.complete(cause);
        }
    }

    /** Registers a resource of the program, which is closed after this worker has left. */
    void closesLast(AutoCloseable resource) {
        closing.closesLast(resource);
    }

    /** Leaves immediately after a failure, which gets the errors of the close as suppressed. */
    void closeAfter(Throwable reason) {
        closing.closeAfter(reason);
    }

    /** Leaves; errors are logged. A limit of zero is as in {@link #closeAfter}. */
    void closeSafely(Duration limit) {
        try {
            closing.close(limit);
        } catch (IOException e) {
            LOG.warn("Worker {} could not leave in order", parts.directory.info(), e);
        }
    }

    /** Returns a future that completes when this worker stops itself because its journal failed. */
    public CompletableFuture<IOException> failure() {
        return failure.copy();
    }

    /** Publishes that this worker is ready, and the keys that it serves. */
    public void ready(Map<String, String> shown) throws IOException {
        Map<String, String> settings = new LinkedHashMap<>(shown);
        if (!parts.rpc.serves()) {
            settings.put(WorkerRecord.ROLE, WorkerRecord.CALLS_ONLY);
        }
        settings.put(WorkerRecord.DURABILITY, parts.durability);
        settings.putAll(parts.declaredDevices);
        Map<String, String> optional = new LinkedHashMap<>();
        optional.put(WorkerRecord.INJECTS, parts.injects);
        optional.put(WorkerRecord.LOST, parts.lost);
        optional.put(WorkerRecord.PARKS, served.left());
        optional.values().removeIf(String::isEmpty);
        settings.putAll(optional);
        served.noteResponders(parts.directory);
        parts.directory.publish(WorkerState.READY, served.now(), settings);
    }

    /** Returns the keys of handlers that are out of service because too many of their calls are stuck, sorted. */
    public List<String> stuck() {
        return served.keysIn(HandlerInfo.State.STUCK);
    }

    public WorkerInfo info() {
        return parts.directory.info();
    }

    public WorkerCounters counters() {
        return parts.counters;
    }

    /** Returns the figures of the workers of the home, as they published them. */
    public HomeMetrics metrics() {
        return parts.brokers.metrics().orElseThrow();
    }

    /** Returns the state of the archive of sent tensors: what it archives, and its lag. */
    public ArchiveStatus archiveStatus() {
        return parts.archive.status();
    }

    /** Returns the number of this worker's calls without an outcome. */
    public int pendingCalls() {
        return parts.calling.pending.size() + parts.calling.repeated.size();
    }

    /** Returns the number of leases of peers' regions that are in use here. */
    int leasesHeld() {
        return parts.transit.receiver().leasesHeld();
    }

    /** Returns the number of leases of this worker's regions that peers have not released. */
    long leased() {
        parts.transit.sender().reclaim();
        return parts.transit.sender().leases();
    }

    /** Returns the number of calls that are being completed; at rest none. */
    int callsTaken() {
        return parts.calling.pending.taken();
    }

    /** Returns the number of exchanges of requests that are in use; at rest there is one at most. */
    int exchangesHeld() {
        return parts.upkeep.drain.exchangesHeld();
    }

    /** Returns the allocator of memory for tensors that are to be sent. */
    public TensorBuffers buffers() {
        return parts.transit.pool();
    }

    /**
     * Returns the calls of operators and functions of other workers, and remote references.
     *
     * @throws IllegalStateException when this worker only calls: peers must be able to reach it
     */
    public Rpc rpc() {
        parts.rpc.requireServing();
        return parts.rpc;
    }

    /** Returns the program's broker, which bundles get as a service. It is revoked when this worker closes. */
    public Broker broker() {
        return broker;
    }

    /** Returns the brokers of bundles, and their counters. */
    public Brokers brokers() {
        return parts.brokers;
    }

    /** Returns the listeners for what happens to calls, to which a program can add its own. */
    public CallListeners events() {
        return parts.registry.events();
    }

    /** Returns the interceptors around the calls and handlers of this worker. */
    public InterceptorRegistry interceptors() {
        return parts.interceptors;
    }

    /** Returns the converters that move tensors of other device types in and out of messages. */
    public DeviceRegistry devices() {
        return parts.transit.devices();
    }

    public WorkerDirectory directory() {
        return parts.directory;
    }

    @Override
    public Response call(Request request) {
        return parts.calls.call(request);
    }

    @Override
    public CompletableFuture<Response> callAsync(Request request) {
        return parts.calls.callAsync(request);
    }

    @Override
    public long call(Request request, ResponseListener listener) {
        return parts.calls.call(request, listener);
    }

    /**
     * Returns the outcome of a call that an earlier incarnation made: the recorded response, or the response that its
     * receiver has yet to send. A separate thread searches the journals.
     *
     * <p>The future fails with a {@link io.waybill.api.CallException}: with the recorded error; with
     * {@link ErrorCode#UNKNOWN_CALL} when this worker never made the call; {@link ErrorCode#WORKER_LOST} when its
     * receiver ended without a response and, for a call that a later incarnation of it may run, has not returned in
     * time; {@link ErrorCode#RESPONSE_GONE} when the response contained references or tensors in a segment, which were
     * released with the calling process; {@link ErrorCode#TIMED_OUT} when there was no outcome in time.
     *
     * @param timeout {@link Duration#ZERO} for none
     */
    public CompletableFuture<Response> claimAsync(long messageId, Duration timeout) {
        return parts.earlierCalls.claim(messageId, OutcomeClaim.Way.WAIT, timeout);
    }

    /**
     * Waits for {@link #claimAsync}.
     *
     * @throws IllegalStateException on the worker's poller
     */
    public Response claim(long messageId, Duration timeout) {
        parts.calls.requireMayBlock();
        return EarlierCalls.await(claimAsync(messageId, timeout), messageId, parts.host.threads());
    }

    /**
     * Sends a request of an earlier incarnation again, under its id, to the current incarnation of its receiver, unless
     * a handler's response is recorded. The receiver sends the recorded response if it has one; waits for a handler
     * that is still running; runs the request when no handler had begun it, or when one may have and it is declared
     * {@code at-least-once}; and otherwise rejects it with {@link ErrorCode#WORKER_LOST}. The future fails as that of
     * {@link #claimAsync} does, and with {@link ErrorCode#REFUSED} for a request with references, or with tensors in a
     * segment.
     *
     * @param timeout {@link Duration#ZERO} for none
     */
    public CompletableFuture<Response> repeatAsync(long messageId, Duration timeout) {
        return parts.earlierCalls.claim(messageId, OutcomeClaim.Way.REPEAT, timeout);
    }

    /**
     * Waits for {@link #repeatAsync}.
     *
     * @throws IllegalStateException on the worker's poller
     */
    public Response repeat(long messageId, Duration timeout) {
        parts.calls.requireMayBlock();
        return EarlierCalls.await(repeatAsync(messageId, timeout), messageId, parts.host.threads());
    }

    /**
     * Returns the ids of requests of earlier incarnations whose outcome the last of them had not read, lowest first:
     * requests without a recorded response, and requests whose response it had not read. Use {@link #claim} to get
     * their outcomes. Reads journals on the calling thread.
     *
     * @param max max number of ids; the oldest are returned
     */
    public long[] unanswered(int max) throws IOException {
        try (Membership all = new Membership(directory().home())) {
            all.refresh();
            long[] ids = parts.unclaimed.find(all.members().all());
            return max < ids.length ? Arrays.copyOf(ids, max) : ids;
        }
    }

    /**
     * Stops beginning requests, which then stay in the journal, and waits for the requests in flight, up to the drain
     * limit: the first part of {@link #close}.
     */
    public void drainRequests() {
        parts.upkeep.drain.await(parts.settings.drainLimit());
    }

    /** Replaces the max age and the max number of the journal's files. 0 is no limit. */
    public void retain(Duration maxAge, int maxCycles) {
        parts.upkeep.retention.retain(maxAge, maxCycles);
    }

    /**
     * Waits until every call of this worker has an outcome and its listener has returned, or the limit has passed.
     *
     * @return the number of calls without an outcome, or whose listener has not returned
     * @throws IllegalStateException in a listener or a non-blocking handler, which must not wait
     */
    public int drain(Duration limit) {
        if (!closing.isClosed()) {
            parts.calls.requireMayBlock();
        }
        return parts.callDrain.await(limit, closing::isClosed);
    }

    /**
     * Ends the work of several workers together, as PyTorch's graceful shutdown does: waits until each of them has
     * called this method, has left or has ended, and no call is in flight among them; then releases all references, as
     * {@link Rpc#shutdown} does. Until then this worker serves. {@linkplain #close Close} it afterwards.
     *
     * @param others names or ids; this worker itself may be among them
     * @return description of the work that had not ended at the limit; empty when all has ended
     * @throws IllegalStateException on the worker's poller
     */
    public String shutdown(Duration limit, Collection<String> others) {
        long untilNs = parts.host.clock().monotonicNs() + limit.toNanos();
        String working = parts.upkeep.groupShutdown.await(others, limit);
        if (!parts.rpc.serves()) {
            return working;
        }
        String held = parts.rpc.shutdown(
                Duration.ofNanos(Math.max(0, untilNs - parts.host.clock().monotonicNs())));
        return working.isEmpty() || held.isEmpty() ? working + held : working + " " + held;
    }

    /**
     * Leaves the home. No request is begun from now on; requests in flight may complete within the drain limit of the
     * settings, and their callers get the responses; receivers of shared device memory have the same time again. Then
     * calls without an outcome fail with {@link ErrorCode#CLOSED}, the peers are notified, and the name is released.
     * Every step is attempted, even if an earlier one throws.
     *
     * <p><b>Threads.</b> Any. A concurrent call waits until the close is complete. In a callback of this worker (a
     * {@link ResponseListener}, a stage of a future, or a handler) waiting is impossible: the close continues on a
     * separate thread, and its errors are logged.
     *
     * @throws IOException when a step failed: the first failure, with the others as suppressed
     */
    @Override
    public void close() throws IOException {
        closing.close(parts.settings.drainLimit());
    }
}
