package io.waybill.worker.call;

import io.waybill.api.Request;
import io.waybill.worker.peer.FlowLimits;
import java.time.Duration;

/**
 * Settings of the calls that a worker makes.
 *
 * @param defaultTimeout for calls without a timeout; {@link Duration#ZERO} for none
 * @param limits of calls and bytes in flight
 * @param maxRecordBytes of a record, without its tensors
 * @param acrossIncarnations whether a later incarnation of the receiver may complete a call
 */
public record CallSettings(Duration defaultTimeout, FlowLimits limits, int maxRecordBytes, boolean acrossIncarnations) {

    /** Returns the timeout of a request; {@link Request#NO_TIMEOUT} for none. */
    long timeoutNs(Request request) {
        return request.timeoutNs() == Request.DEFAULT_TIMEOUT ? defaultTimeout.toNanos() : request.timeoutNs();
    }

    /** Returns a positive deadline, because 0 stands for none: in the past when the timeout is negative. */
    static long deadlineNs(long nowNs, long timeoutNs) {
        if (timeoutNs == Request.NO_TIMEOUT) {
            return 0;
        }
        long sum = nowNs + timeoutNs;
        return timeoutNs > 0 && sum < nowNs ? Long.MAX_VALUE : Math.max(1, sum);
    }
}
