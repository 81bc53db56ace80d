package io.waybill.worker.upkeep;

import io.waybill.host.Host;
import io.waybill.worker.call.CallParts;
import io.waybill.worker.call.DeviceResponses;
import io.waybill.worker.call.PendingCalls;
import io.waybill.worker.call.RepeatedCalls;
import io.waybill.worker.poll.WaitingCallers;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/**
 * Waits for the outcomes of this worker's calls. A call is over when its listener has returned: a program that ends
 * then has seen every outcome.
 *
 * <p><b>Threads.</b> Any that may wait for other workers.
 */
public final class CallDrain {

    private static final long LOOK_NS = 1_000_000;

    private final Host host;
    private final PendingCalls pending;
    private final RepeatedCalls repeated;
    private final DeviceResponses deviceResponses;
    private final WaitingCallers waits;

    public CallDrain(Host host, CallParts calling, WaitingCallers waits) {
        this.host = host;
        this.pending = calling.pending;
        this.repeated = calling.repeated;
        this.deviceResponses = calling.deviceResponses;
        this.waits = waits;
    }

    /**
     * Waits until no call is open, or the limit has passed, or the thread is interrupted.
     *
     * @param isClosed returns whether the worker has closed, which ended all calls
     * @return the number of calls that are open; at least one when a listener has not returned
     */
    public int await(Duration limit, BooleanSupplier isClosed) {
        long untilNs = host.clock().monotonicNs() + limit.toNanos();
        int left = open(isClosed);
        while (left > 0
                && host.clock().monotonicNs() - untilNs < 0
                && !Thread.currentThread().isInterrupted()) {
            host.threads().pause(LOOK_NS);
            left = open(isClosed);
        }
        return left;
    }

    /**
     * Returns the number of open calls. It is zero only if it was zero while no thread polled: a thread that polls may
     * be inside a listener.
     */
    private int open(BooleanSupplier isClosed) {
        int left = count();
        if (left > 0 || isClosed.getAsBoolean()) {
            return left;
        }
        int[] leftThen = {1};
        waits.whileNotPolling(() -> leftThen[0] = waits.isListenerLate() ? Math.max(1, count()) : count());
        return leftThen[0];
    }

    private int count() {
        return pending.size() + repeated.size() + deviceResponses.converting();
    }
}
