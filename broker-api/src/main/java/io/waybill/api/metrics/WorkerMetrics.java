package io.waybill.api.metrics;

import io.waybill.api.WorkerInfo;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Figures of one worker, as it published them. Counts begin at 0 with each incarnation, and only grow. Immutable.
 *
 * <p>{@link #values()} has gauges and counters by name. Names in use are listed in the reference page of the metrics file; a name that a worker does
 * not know yet, or does not use, is absent. Counters of bundles are there as {@code bundle/name}.
 *
 * @param epoch how often the worker's name has joined
 * @param pid of its process, in its own pid namespace
 * @param startedMs when it joined, on the wall clock in ms since 1970
 * @param publishedMs when it published these figures, on the wall clock in ms since 1970. A worker whose counts do not change publishes nothing
 * @param served requests of others, and of itself, that it responded to
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
