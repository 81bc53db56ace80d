package io.waybill.cli.top;

import io.waybill.api.ErrorCode;
import io.waybill.api.metrics.LatencyHistogram;
import java.util.Map;

/**
 * One operation of one worker in one interval, over all peers.
 *
 * @param worker its name, with its state if it is not live
 * @param operation name of the operation, or of the type; {@code (other)} for requests beyond the max number of
 *     entries, {@code -} for a worker without requests
 * @param rate outcomes per second
 * @param latency in the interval
 * @param count outcomes since the worker joined
 * @param errors in the interval
 * @param errorRate errors per second
 * @param lag requests that the worker has not read; negative when unknown
 * @param heapBytes of the worker's JVM; negative when unknown
 */
record TopRow(
        String worker,
        String operation,
        double rate,
        LatencyHistogram latency,
        long count,
        long inFlight,
        long parked,
        Map<ErrorCode, Long> errors,
        double errorRate,
        long lag,
        long heapBytes) {

    long p50Ns() {
        return latency.percentileNs(50);
    }

    long p99Ns() {
        return latency.percentileNs(99);
    }
}
