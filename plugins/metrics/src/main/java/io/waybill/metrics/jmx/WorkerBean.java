package io.waybill.metrics.jmx;

import io.waybill.api.metrics.LatencyHistogram;
import io.waybill.api.metrics.OperationMetrics;
import io.waybill.api.metrics.WorkerMetrics;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToLongFunction;

/**
 * Last read figures of one worker.
 *
 * <p><b>Threads.</b> Any.
 */
final class WorkerBean implements WorkerMXBean {

    private static final double NS_PER_MS = 1e6;
    private static final double MEDIAN = 50;
    private static final double P99 = 99;

    private volatile WorkerMetrics metrics; // replaced by the reading thread, read by the threads of JMX

    WorkerBean(WorkerMetrics metrics) {
        this.metrics = metrics;
    }

    void update(WorkerMetrics newer) {
        metrics = newer;
    }

    private static long sum(List<OperationMetrics> operations, ToLongFunction<OperationMetrics> what) {
        return operations.stream().mapToLong(what).sum();
    }

    private LatencyHistogram latency() {
        return metrics.served().stream()
                .map(OperationMetrics::latency)
                .reduce(LatencyHistogram.EMPTY, LatencyHistogram::plus);
    }

    @Override
    public String getName() {
        return metrics.worker().name();
    }

    @Override
    public int getId() {
        return metrics.worker().id();
    }

    @Override
    public long getPid() {
        return metrics.pid();
    }

    @Override
    public long getEpoch() {
        return metrics.epoch();
    }

    @Override
    public long getPublishedMs() {
        return metrics.publishedMs();
    }

    @Override
    public long getServed() {
        return sum(metrics.served(), OperationMetrics::count);
    }

    @Override
    public long getServedErrors() {
        return sum(metrics.served(), OperationMetrics::failed);
    }

    @Override
    public long getServedInFlight() {
        return sum(metrics.served(), OperationMetrics::inFlight);
    }

    @Override
    public long getParked() {
        return sum(metrics.served(), OperationMetrics::parked);
    }

    @Override
    public long getCalled() {
        return sum(metrics.called(), OperationMetrics::count);
    }

    @Override
    public long getCalledErrors() {
        return sum(metrics.called(), OperationMetrics::failed);
    }

    @Override
    public long getCalledInFlight() {
        return sum(metrics.called(), OperationMetrics::inFlight);
    }

    @Override
    public double getServedP50Ms() {
        return latency().percentileNs(MEDIAN) / NS_PER_MS;
    }

    @Override
    public double getServedP99Ms() {
        return latency().percentileNs(P99) / NS_PER_MS;
    }

    @Override
    public double getServedMaxMs() {
        return latency().maxNs() / NS_PER_MS;
    }

    @Override
    public Map<String, Long> getServedByOperation() {
        Map<String, Long> byOperation = new TreeMap<>();
        for (OperationMetrics each : metrics.served()) {
            String name = each.operation().isEmpty() ? each.type().name() : each.operation();
            byOperation.merge(name, each.count(), Long::sum);
        }
        return byOperation;
    }

    @Override
    public Map<String, Long> getValues() {
        return metrics.values();
    }
}
