package io.waybill.salvage;

import io.waybill.api.WorkerInfo;
import java.util.List;

/**
 * Result of the salvage of one worker. Immutable.
 *
 * @param epoch of its last incarnation
 * @param positions number of positions of its cursors that were copied
 * @param files besides the queues: kept values, stores on disk, archives, bundles, scripts
 * @param problems omitted parts, with the reasons
 */
public record SalvagedWorker(
        WorkerInfo info, long epoch, List<SalvagedQueue> queues, int positions, long files, List<String> problems) {

    public SalvagedWorker {
        queues = List.copyOf(queues);
        problems = List.copyOf(problems);
    }

    /** Returns whether the new home contains all data of the worker. */
    public boolean isWhole() {
        return problems.isEmpty() && queues.stream().allMatch(SalvagedQueue::isWhole);
    }
}
