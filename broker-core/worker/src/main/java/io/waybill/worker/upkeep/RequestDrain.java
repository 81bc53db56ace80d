package io.waybill.worker.upkeep;

import io.waybill.host.Host;
import io.waybill.worker.poll.WaitingCallers;
import io.waybill.worker.serve.OpenRequests;
import io.waybill.worker.serve.RequestDispatcher;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * First part of an orderly close: no request is begun, and the requests in flight get their responses, up to a limit.
 * Requests that are not begun stay in the journal. The worker polls and calls meanwhile, because handlers may wait for
 * responses of other workers.
 *
 * <p><b>Threads.</b> Belongs to the thread that closes, which must be none of the threads that it waits for.
 */
public final class RequestDrain {

    private static final Logger LOG = LoggerFactory.getLogger(RequestDrain.class);
    private static final long LOOK_NS = 1_000_000;

    private final Host host;
    private final RequestDispatcher serving;
    private final OpenRequests open;
    private final WaitingCallers waits;
    private final Watchdog watchdog;
    private int left;

    public RequestDrain(
            Host host, RequestDispatcher serving, OpenRequests open, WaitingCallers waits, Watchdog watchdog) {
        this.watchdog = watchdog;
        this.host = host;
        this.serving = serving;
        this.open = open;
        this.waits = waits;
    }

    /** Waits until no request is in flight, or the limit has passed, or the thread is interrupted. */
    public void await(Duration limit) {
        serving.leave();
        watchdog.leave();
        long untilNs = host.clock().monotonicNs() + limit.toNanos();
        while (!isDone()) {
            if (host.clock().monotonicNs() - untilNs >= 0
                    || Thread.currentThread().isInterrupted()) {
                warn(limit);
                return;
            }
            host.threads().pause(LOOK_NS);
        }
    }

    private void warn(Duration limit) {
        if (left > 0) {
            LOG.warn(
                    "The worker leaves while {} requests are in flight, which did not end within the drain limit of {} ms:"
                            + " their callers get WORKER_LOST",
                    left,
                    limit.toMillis());
        }
    }

    /**
     * Returns whether the drain is complete. Called while no thread polls: an earlier poll may have begun requests that
     * it had read already.
     */
    private boolean isDone() {
        left = open.count();
        return left == 0 && waits.whileNotPolling(() -> left = open.count()) && left == 0;
    }

    /** Returns the number of exchanges of requests that are in use; at rest there is one at most. */
    public int exchangesHeld() {
        return serving.exchangesHeld();
    }
}
