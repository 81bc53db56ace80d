package io.waybill.worker;

import io.waybill.api.Caller;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Rpc;
import io.waybill.api.WorkerInfo;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.archive.ArchiveStatus;
import io.waybill.device.DeviceRegistry;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.WorkerRecord;
import io.waybill.home.WorkerState;
import io.waybill.home.error.HomeException;
import io.waybill.journal.recover.QueueBeginning;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.peer.QueueAppender;
import io.waybill.worker.recover.EarlierCalls;
import io.waybill.worker.recover.OutcomeClaim;
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
 * A process that joined a home under a name: it calls other workers, and serves their calls with the handlers of its registry. Works
 * with and without OSGi.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> The program that joined closes it.
 */
public final class Worker implements Caller, AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Worker.class);

    final WorkerParts parts;
    private final WorkerClosing closing;
    private final ServedKeys served;
    private final CompletableFuture<IOException> failure = new CompletableFuture<>();

    private Worker(WorkerParts parts) {
        this.parts = parts;
        this.closing = new WorkerClosing(parts);
        this.served = new ServedKeys(parts.registry);
    }

    /**
     * Joins a home. The worker calls and serves from now on; others see it as starting until {@link #ready}.
     *
     * @throws io.waybill.home.error.NameTakenException when a live worker has the name
     * @throws IOException when the home or the worker's directory can't be used
     */
    public static Worker join(
            Home home, String name, JoinOptions options, WorkerSettings settings, HandlerRegistry registry)
            throws IOException {
        Opened opened = new Opened();
        Worker worker = null;
        try {
            worker = new Worker(WorkerOpener.open(opened, home, name, options, settings, registry));
            worker.parts.start(worker::failed);
            return worker;
        } catch (Throwable e) { // also when the host gives no more threads: the name comes free
            if (worker == null) {
                opened.closeAfter(e);
            } else {
                worker.closing.closeAfter(e);
            }
            if (e instanceof InternalError) { // a fault in a mapped file, which JDK 17 may tell late
                throw new HomeException(
                        "a fault in a mapped file of worker " + name + ", whose disk is full or failed: "
                                + e.getMessage(),
                        e);
            }
            throw e;
        }
    }

    /**
     * What was appended can't be brought to the disk, another process has written to the files, or one of them is gone: the worker stops, and
     * all that wait for it hear of it.
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
        parts.requestWriter.fail("the journal of worker " + parts.directory.name() + " failed: " + cause.getMessage());
        try {
            closing.close(Duration.ZERO); // no response can be written any more
        } catch (Throwable e) { // the failure is reported in any case
            LOG.warn("Worker {} could not leave in order after its journal failed", parts.directory.info(), e);
        } finally {
            failure.complete(cause);
        }
    }

    /** Completes when this worker has stopped by itself, because its journal failed. */
    public CompletableFuture<IOException> failure() {
        return failure.copy();
    }

    /** Tells the others that this worker serves, and what. */
    public void ready(Map<String, String> shown) throws IOException {
        Map<String, String> settings = new LinkedHashMap<>(shown);
        if (!parts.rpc.serves()) {
            settings.put(WorkerRecord.ROLE, WorkerRecord.CALLS_ONLY);
        }
        settings.put(WorkerRecord.DURABILITY, parts.durability);
        if (!parts.injects.isEmpty()) {
            settings.put(WorkerRecord.INJECTS, parts.injects);
        }
        if (!parts.lost.isEmpty()) {
            settings.put(WorkerRecord.LOST, parts.lost);
        }
        parts.directory.publish(WorkerState.READY, served.now(), settings);
    }

    /** The keys of handlers that are out of service because requests are stuck in them, sorted. */
    public List<String> stuck() {
        return served.keysIn(HandlerStatus.State.STUCK);
    }

    public WorkerInfo info() {
        return parts.directory.info();
    }

    public WorkerCounters counters() {
        return parts.counters;
    }

    /** What of the tensors that it sent is archived, and how far that is behind. */
    public ArchiveStatus archiveStatus() {
        return parts.archive.status();
    }

    /** Calls of this worker without an outcome. */
    public int pendingCalls() {
        return parts.pending.size();
    }

    /** Leases of peers' regions that are in use here. */
    int leasesHeld() {
        return parts.transit.receiver().leasesHeld();
    }

    /** Leases of this worker's regions that peers have not released. */
    long leased() {
        parts.transit.sender().reclaim();
        return parts.transit.sender().leases();
    }

    /** Memory for tensors that are to be sent. */
    public TensorBuffers buffers() {
        return parts.transit.pool();
    }

    /**
     * Operators and functions of other workers, and remote references.
     *
     * @throws IllegalStateException when this worker only calls: others must be able to reach it
     */
    public Rpc rpc() {
        parts.rpc.requireServing();
        return parts.rpc;
    }

    /** Who moves tensors of other device types in and out of messages. */
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
     * The outcome of a call that an earlier process of this name made: the response that is on record, or the one that its receiver is still
     * to give. The journals are searched on a thread of its own.
     *
     * <p>The future fails with a {@link CallException}: with the error that is on record; with {@link ErrorCode#UNKNOWN_CALL} when this
     * worker never made the call; {@link ErrorCode#WORKER_LOST} when its receiver is gone without a response and, for a call that a later
     * life of it may run, has not returned in time; {@link ErrorCode#RESPONSE_GONE} when the response brought references or tensors in a
     * segment, which ended with the process that had asked; {@link ErrorCode#TIMED_OUT} when none of that came in time.
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
        return EarlierCalls.await(parts.earlierCalls.claim(messageId, OutcomeClaim.Way.WAIT, timeout), messageId);
    }

    /**
     * Sends a request of an earlier process of this name again, under its id, to the process of its receiver that is there now, unless a
     * handler's response is on record. The receiver gives the response that it has on record; waits for the handler that is at it; runs the
     * request when no handler had begun it, or when one may have and it is declared {@code at-least-once}; and refuses it with
     * {@link ErrorCode#WORKER_LOST} otherwise. The future fails as that of {@link #claimAsync} does, and with {@link ErrorCode#REFUSED} for
     * a request that brought references, or tensors in a segment.
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
        return EarlierCalls.await(parts.earlierCalls.claim(messageId, OutcomeClaim.Way.REPEAT, timeout), messageId);
    }

    /**
     * The ids of requests of earlier processes of this name whose outcome the last of them had not heard, lowest first: those without an
     * answer on record, and those whose response it had not read. What {@link #claim} is for. Reads journals on the calling thread.
     *
     * @param max so many of the oldest
     */
    public long[] unanswered(int max) throws IOException {
        long[] ids = parts.unclaimed.find(parts.links.peers());
        return max < ids.length ? Arrays.copyOf(ids, max) : ids;
    }

    /**
     * Waits until no call of this worker is without an outcome, at most this long.
     *
     * @return how many still are
     */
    public int drain(Duration limit) {
        long untilNs = parts.host.clock().monotonicNs() + limit.toNanos();
        int left = parts.pending.size();
        while (left > 0
                && parts.host.clock().monotonicNs() < untilNs
                && !Thread.currentThread().isInterrupted()) {
            parts.host.threads().pause(1_000_000);
            left = parts.pending.size();
        }
        return left;
    }

    /**
     * Ends the work of several workers together, as PyTorch's graceful shutdown does: waits until each of them has come here, has left or
     * has died, and no call is under way among them; then gives back all references, as {@link Rpc#shutdown} does. Until then this worker
     * serves. What is left to do is to {@linkplain #close close} it.
     *
     * @param others names or ids; this worker itself may be among them
     * @return what it waited for without success; empty when all has ended
     * @throws IllegalStateException on the worker's poller
     */
    public String shutdown(Duration limit, Collection<String> others) {
        long untilNs = parts.host.clock().monotonicNs() + limit.toNanos();
        String working = parts.groupShutdown.await(others, limit);
        if (!parts.rpc.serves()) {
            return working;
        }
        String held = parts.rpc.shutdown(
                Duration.ofNanos(Math.max(0, untilNs - parts.host.clock().monotonicNs())));
        return working.isEmpty() || held.isEmpty() ? working + held : working + " " + held;
    }

    /**
     * Leaves. No request is begun any more; those in flight have the drain limit of the settings to end, and their callers get the
     * responses. Then calls without an outcome fail with {@link ErrorCode#CLOSED}, the others are told, and the name is given back. Every
     * step is attempted, whatever one of them throws.
     *
     * <p><b>Threads.</b> Any. Another call, also at the same time, waits until it is done. In a callback of this worker (a
     * {@link ResponseListener}, a stage of a future, or a handler) nothing can be waited for: it begins there, goes on on a thread of its
     * own, and its errors are logged.
     *
     * @throws IOException when a step failed: the first failure, with the others as suppressed
     */
    @Override
    public void close() throws IOException {
        closing.close(parts.drainLimit);
    }
}
