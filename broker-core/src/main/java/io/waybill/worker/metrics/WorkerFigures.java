package io.waybill.worker.metrics;

import io.waybill.api.metrics.WorkerMetrics;
import java.util.Map;

/**
 * What a worker publishes: its figures, and how many of its requests each peer has not read yet. Immutable.
 *
 * @param unread by the peer's worker id; without those that have read everything
 */
public record WorkerFigures(WorkerMetrics metrics, Map<Integer, Long> unread) {

    public WorkerFigures {
        unread = Map.copyOf(unread);
    }
}
