package io.waybill.worker;

import io.waybill.host.failure.CloseSteps;
import io.waybill.worker.upkeep.MetricsPublisher;
import java.io.IOException;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The close of a worker: runs once, in an order in which no part uses another that is closed, and attempts every step.
 *
 * <p><b>Threads.</b> Thread-safe. The first caller closes, the others wait; inside a callback of the worker a separate
 * thread closes.
 */
final class WorkerClosing {

    private static final Logger LOG = LoggerFactory.getLogger(WorkerClosing.class);
    /** Minimum time that a poll may take to end: it may be in a listener of the program. */
    private static final long MIN_POLL_LIMIT_NS = 1_000_000_000L;

    private static final long POLL_LOOK_NS = 20_000;

    private final WorkerParts parts;
    private final MetricsPublisher publisher;
    private final Object closing = new Object();
    private boolean begun; // guarded by closing
    private Thread closer; // guarded by closing; null until it closes
    private AutoCloseable last = () -> {}; // guarded by closing; set by the thread that joins
    private boolean closed; // guarded by closing: every step was attempted

    WorkerClosing(WorkerParts parts, MetricsPublisher publisher) {
        this.parts = parts;
        this.publisher = publisher;
    }

    /**
     * Leaves the home; see {@link Worker#close}.
     *
     * @param limit for requests in flight
     */
    void close(Duration limit) throws IOException {
        boolean isInside = parts.waiting.isInside();
        synchronized (closing) {
            if (closer == Thread.currentThread() || begun && isInside) {
                return;
            }
            if (begun) {
                awaitClosed();
                return;
            }
            begun = true;
            if (isInside) {
                parts.host.threads().startWhenPossible(parts.directory.name() + "-closer", () -> endSafely(limit));
                return;
            }
        }
        end(limit);
    }

    /** Sets the resource that is closed after the worker has left. */
    void closesLast(AutoCloseable resource) {
        synchronized (closing) {
            last = resource;
        }
    }

    /** Returns whether the close is complete. */
    boolean isClosed() {
        synchronized (closing) {
            return closed;
        }
    }

    /** Waits until the close is complete. Under the lock. */
    private void awaitClosed() {
        boolean interrupted = false;
        while (!closed) {
            try {
                parts.host.threads().waitOn(closing, 0);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Leaves immediately after a failure, which gets the errors of the close as suppressed. */
    void closeAfter(Throwable failure) {
        try {
            close(Duration.ZERO);
        } catch (Throwable e) { // the failure has priority
            failure.addSuppressed(e);
        }
    }

    private void endSafely(Duration limit) {
        try {
            end(limit);
        } catch (Throwable e) { // no caller waits for the result
            LOG.error("Worker {} could not leave in order", parts.directory.info(), e);
        }
    }

    private void end(Duration limit) throws IOException {
        synchronized (closing) {
            closer = Thread.currentThread();
        }
        CloseSteps steps = new CloseSteps();
        if (!limit.isZero() && parts.rpc.serves()) {
            steps.attempt(() -> parts.upkeep.drain.await(limit));
        }
        boolean interrupted = Thread.interrupted(); // otherwise no file could be written, and waiting would not help
        try {
            leave(steps, limit.isZero() ? Duration.ZERO : successionLimit());
            steps.attempt(last()::close);
        } finally {
            synchronized (closing) {
                closed = true;
                closing.notifyAll();
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        LOG.debug("Worker {} left", parts.directory.info());
        steps.finish();
    }

    private AutoCloseable last() {
        synchronized (closing) {
            return last;
        }
    }

    /**
     * Returns the max time that requests which were not begun wait for a successor: zero when the group has ended its
     * work, or no peer can have called this worker.
     */
    private Duration successionLimit() {
        return parts.upkeep.groupShutdown.hasEnded() || !parts.rpc.serves()
                ? Duration.ZERO
                : parts.settings.recovery().successionLimit();
    }

    private void leave(CloseSteps steps, Duration forSuccessor) {
        steps.attempt(parts.brokers::close)
                .attempt(parts.references::close)
                .attempt(parts.calling.writer::close)
                .attempt(parts.earlierCalls::close)
                .attempt(parts.calling.writer::discardKept)
                .attempt(() -> parts.transit.awaitReceivers(parts.settings.drainLimit()))
                .attempt(parts.upkeep.housekeeper::close)
                .attempt(parts.upkeep.retention::close)
                .attempt(parts.poller::close)
                .attempt(() -> parts.registry.removeListener(parts.handlerChanges));
        boolean isUnpolled = stopPolling();
        steps.attempt(
                () -> parts.responseReceiver.failAll(id -> parts.calling.writer.ended(id, parts.directory.name())));
        steps.attempt(parts.calling.deviceResponses::close)
                .attempt(publisher::close); // while the peers' cursors can be read
        if (isUnpolled) {
            steps.attempt(parts.upkeep.lowWatermarks::update)
                    .attempt(parts.serving.reread::closeAll)
                    .attempt(parts.links::close);
        }
        steps.attempt(parts.indexer::close) // may take a second; the peers are already notified
                .attempt(parts.archive::close)
                .attempt(parts.transit::close)
                .attempt(parts.serving.responses::close);
        if (parts.upkeep.syncer != null) {
            steps.attempt(parts.upkeep.syncer::close); // the last responses can be read by then
        }
        steps.attempt(parts.upkeep.ownQueues::note)
                .attempt(parts.requestAppender::end) // while no other process can take the directory
                .attempt(parts.responseAppender::end)
                .attempt(() -> parts.directory.leave(forSuccessor))
                .attempt(parts.requestAppender::close)
                .attempt(parts.responseAppender::close);
    }

    /**
     * Acquires the permit permanently, so that no thread polls: after at most one poll, unless a listener does not
     * return.
     *
     * @return whether it was acquired; if not, resources that a poll uses must stay open
     */
    private boolean stopPolling() {
        long untilNs = parts.host.clock().monotonicNs()
                + Math.max(MIN_POLL_LIMIT_NS, parts.settings.drainLimit().toNanos());
        boolean mine = parts.permit.tryAcquire();
        while (!mine && parts.host.clock().monotonicNs() - untilNs < 0) {
            parts.poller.relieveOfListener(); // which the housekeeper no longer does
            parts.host.threads().pause(POLL_LOOK_NS);
            mine = parts.permit.tryAcquire();
        }
        if (!mine) {
            LOG.error(
                    "Worker {} leaves while its poller does not come back from a listener of the program; the files that it"
                            + " reads stay open",
                    parts.directory.info());
        }
        return mine;
    }
}
