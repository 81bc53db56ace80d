package io.waybill.salvage;

import io.waybill.api.WorkerInfo;
import java.util.List;

/**
 * Result of the salvage of one worker. Immutable.
 *
 * @param epoch of its last incarnation
 * @param positions of its cursors that were taken over
 * @param files besides the queues: kept values, stores on disk, archives, bundles, scripts
 * @param problems what was left out, and why
 */
public record SalvagedWorker(
        WorkerInfo info, long epoch, List<SalvagedQueue> queues, int positions, long files, List<String> problems) {

    public SalvagedWorker {
        queues = List.copyOf(queues);
        problems = List.copyOf(problems);
    }

    /** Whether all that was there is in the new home. */
    public boolean isWhole() {
        return problems.isEmpty() && queues.stream().allMatch(SalvagedQueue::isWhole);
    }
}
