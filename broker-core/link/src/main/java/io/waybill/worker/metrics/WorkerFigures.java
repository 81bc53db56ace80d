package io.waybill.worker.metrics;

import io.waybill.api.metrics.WorkerMetrics;
import java.util.Map;

/**
 * Published state of a worker: its figures, and the number of its requests that each peer has not read yet. Immutable.
 *
 * @param unread number of unread requests by the peer's worker id; without peers that have read everything
 */
public record WorkerFigures(WorkerMetrics metrics, Map<Integer, Long> unread) {

    public WorkerFigures {
        unread = Map.copyOf(unread);
    }
}
