package io.waybill.cli.top;

import io.waybill.api.ErrorCode;
import io.waybill.api.metrics.LatencyHistogram;
import io.waybill.api.metrics.OperationMetrics;
import io.waybill.api.metrics.WorkerMetrics;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import io.waybill.worker.metrics.PublishedMetrics;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Differences between the figures that workers published at two times. For one thread. */
final class Intervals {

    /** Interval in which workers publish. */
    private static final long PUBLISHED_EACH_MS = 1_000;

    private final long intervalMs;
    private final boolean called;
    private Map<Integer, WorkerMetrics> before = Map.of();

    /** @param called whether the rows show requests that workers send, instead of those they serve */
    Intervals(Duration interval, boolean called) {
        this.intervalMs = interval.toMillis();
        this.called = called;
    }

    /** Sums of one operation over its peers. */
    private static final class Sums {
        private long count;
        private long inFlight;
        private long parked;
        private LatencyHistogram latency = LatencyHistogram.EMPTY;
        private final Map<ErrorCode, Long> errors = new EnumMap<>(ErrorCode.class);

        void add(OperationMetrics operation) {
            count += operation.count();
            inFlight += operation.inFlight();
            parked += operation.parked();
            latency = latency.plus(operation.latency());
            operation.errors().forEach((code, times) -> errors.merge(code, times, Long::sum));
        }
    }

    /** Returns the rows of the time since the last call. They include workers that died, but not those that left. */
    List<TopRow> next(Map<Peer, WorkerMetrics> published) {
        List<TopRow> rows = new ArrayList<>();
        Map<Integer, WorkerMetrics> now = new HashMap<>();
        List<Peer> peers = new ArrayList<>(published.keySet());
        peers.sort(Comparator.comparingInt(Peer::id));
        for (Peer peer : peers) {
            if (peer.state() != PeerState.LEFT) {
                now.put(peer.id(), published.get(peer));
                addRows(peer, published.get(peer), rows);
            }
        }
        before = now;
        return rows;
    }

    private void addRows(Peer peer, WorkerMetrics metrics, List<TopRow> rows) {
        String name = peer.state().isThere()
                ? peer.name()
                : peer.name() + " (" + peer.state().name().toLowerCase(Locale.ROOT) + ")";
        WorkerMetrics earlier = before.get(peer.id());
        boolean isSame = earlier != null && earlier.epoch() == metrics.epoch();
        double seconds = (isSame
                        ? Math.min(metrics.publishedMs() - earlier.publishedMs(), intervalMs + PUBLISHED_EACH_MS)
                        : metrics.publishedMs() - metrics.startedMs())
                / 1e3;
        Map<String, Sums> old = isSame ? sums(earlier) : Map.of();
        Map<String, Sums> sums = sums(metrics);
        long lag = metrics.values().getOrDefault(PublishedMetrics.LAG, -1L);
        long heap = metrics.values().getOrDefault("jvm.heap-used", -1L);
        if (sums.isEmpty()) {
            rows.add(new TopRow(name, "-", 0, LatencyHistogram.EMPTY, 0, 0, 0, Map.of(), 0, lag, heap));
        }
        sums.forEach((operation, sum) -> {
            Sums past = old.getOrDefault(operation, new Sums());
            LatencyHistogram latency = sum.latency.minus(past.latency);
            Map<ErrorCode, Long> errors = new EnumMap<>(ErrorCode.class);
            sum.errors.forEach((code, times) -> {
                long more = times - past.errors.getOrDefault(code, 0L);
                if (more > 0) {
                    errors.put(code, more);
                }
            });
            long failed = errors.values().stream().mapToLong(Long::longValue).sum();
            rows.add(new TopRow(
                    name,
                    operation,
                    perSecond(latency.count(), seconds),
                    latency,
                    sum.count,
                    sum.inFlight,
                    sum.parked,
                    errors,
                    perSecond(failed, seconds),
                    lag,
                    heap));
        });
    }

    private static double perSecond(long count, double seconds) {
        return seconds > 0 ? count / seconds : 0;
    }

    private Map<String, Sums> sums(WorkerMetrics metrics) {
        Map<String, Sums> sums = new TreeMap<>();
        for (OperationMetrics each : called ? metrics.called() : metrics.served()) {
            sums.computeIfAbsent(name(each), name -> new Sums()).add(each);
        }
        return sums;
    }

    private static String name(OperationMetrics operation) {
        if (operation.isOther()) {
            return "(other)";
        }
        return operation.operation().isEmpty() ? operation.type().name() : operation.operation();
    }
}
