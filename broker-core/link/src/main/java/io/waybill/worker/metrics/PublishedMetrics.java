package io.waybill.worker.metrics;

import io.waybill.api.metrics.HomeMetrics;
import io.waybill.api.metrics.WorkerMetrics;
import io.waybill.home.Peer;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The figures that the workers of a home published, from their files. Adds the value {@value #LAG}: the number of
 * requests that a worker has not read according to the others.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
public final class PublishedMetrics implements HomeMetrics {

    /**
     * The logger, created when there is something to log: configuring it takes a fifth of the time of a command that
     * only reads.
     */
    private static final class Log {
        private static final Logger LOG = LoggerFactory.getLogger(PublishedMetrics.class);
    }

    /** Value of a worker: requests of others that it has not read yet. */
    public static final String LAG = "lag";

    private static final int MAX_LOGGED = 1_000;

    private final Supplier<List<Peer>> peers;
    private final SafeFiles files;
    private final Set<String> logged = new HashSet<>(); // guarded by itself

    /** @param peers all workers of the home, this one included */
    public PublishedMetrics(Supplier<List<Peer>> peers, SafeFiles files) {
        this.peers = peers;
        this.files = files;
    }

    @Override
    public List<WorkerMetrics> read() {
        List<WorkerMetrics> live = new ArrayList<>();
        Map<Peer, WorkerFigures> found = figures(peer -> peer.state().isThere());
        Map<Integer, Long> lags = lags(found);
        found.forEach((peer, figures) -> live.add(withLag(figures.metrics(), lags.getOrDefault(peer.id(), 0L))));
        live.sort(Comparator.comparingInt(metrics -> metrics.worker().id()));
        return live;
    }

    /** Reads the figures of all workers that have published some, also of those that have left or died. */
    public Map<Peer, WorkerMetrics> readAll() {
        Map<Peer, WorkerFigures> found = figures(peer -> true);
        Map<Integer, Long> lags = lags(found);
        Map<Peer, WorkerMetrics> all = new HashMap<>();
        found.forEach((peer, figures) -> {
            boolean isThere = peer.state().isThere();
            all.put(peer, isThere ? withLag(figures.metrics(), lags.getOrDefault(peer.id(), 0L)) : figures.metrics());
        });
        return all;
    }

    /**
     * Reads the numbers of requests that workers have not read, by worker id; without workers that have read all.
     * Workers need not have published figures.
     */
    public Map<Integer, Long> lags() {
        return lags(figures(peer -> peer.state().isThere()));
    }

    private static Map<Integer, Long> lags(Map<Peer, WorkerFigures> found) {
        Map<Integer, Long> lags = new HashMap<>();
        found.forEach((peer, figures) -> {
            if (peer.state().isThere()) {
                figures.unread().forEach((reader, requests) -> lags.merge(reader, requests, Long::sum));
            }
        });
        return lags;
    }

    private Map<Peer, WorkerFigures> figures(Predicate<Peer> which) {
        Map<Peer, WorkerFigures> found = new HashMap<>();
        for (Peer peer : peers.get()) {
            if (which.test(peer)) {
                read(peer).ifPresent(figures -> found.put(peer, figures));
            }
        }
        return found;
    }

    /** Reads the figures of one worker, in its last incarnation. */
    private Optional<WorkerFigures> read(Peer peer) {
        try {
            return MetricsFile.read(peer.info(), peer.path(), files)
                    .filter(figures -> figures.metrics().epoch() == peer.epoch());
        } catch (IOException e) {
            synchronized (logged) {
                if (logged.size() < MAX_LOGGED && logged.add(e.getMessage())) {
                    Log.LOG.warn("The figures of worker {} can't be read", peer, e);
                }
            }
            return Optional.empty();
        }
    }

    private static WorkerMetrics withLag(WorkerMetrics metrics, long lag) {
        Map<String, Long> values = new HashMap<>(metrics.values());
        values.put(LAG, lag);
        return new WorkerMetrics(
                metrics.worker(),
                metrics.epoch(),
                metrics.pid(),
                metrics.startedMs(),
                metrics.publishedMs(),
                metrics.served(),
                metrics.called(),
                values);
    }
}
