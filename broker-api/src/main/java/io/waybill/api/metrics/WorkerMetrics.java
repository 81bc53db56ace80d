package io.waybill.api.metrics;

import io.waybill.api.WorkerInfo;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Published figures of one worker. Counts begin at 0 with each incarnation, and only grow. Immutable.
 *
 * <p>{@link #values()} contains gauges and counters by name. The reference page of the metrics file lists the names; a
 * name that a worker does not know or use is absent. Counters of bundles have names of the form {@code bundle/name}, gauges
 * {@code bundle:name}.
 *
 * @param epoch number of times that the worker's name has joined
 * @param pid process id, in the worker's own pid namespace
 * @param startedMs time of its join, on the wall clock in ms since 1970
 * @param publishedMs time of this publication, on the wall clock in ms since 1970. A worker whose counts do not change
 *     publishes nothing
 * @param served requests that it responded to, including its own
 * @param called requests that it sent
 */
public record WorkerMetrics(
        WorkerInfo worker,
        long epoch,
        long pid,
        long startedMs,
        long publishedMs,
        List<OperationMetrics> served,
        List<OperationMetrics> called,
        Map<String, Long> values) {

    public WorkerMetrics {
        Objects.requireNonNull(worker);
        served = List.copyOf(served);
        called = List.copyOf(called);
        values = Map.copyOf(values);
    }
}
