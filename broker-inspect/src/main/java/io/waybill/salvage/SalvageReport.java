package io.waybill.salvage;

import java.util.List;

/**
 * Result of the salvage of a home. Immutable.
 *
 * @param problems of the home itself: what was left out, and why
 */
public record SalvageReport(List<SalvagedWorker> workers, List<String> problems) {

    public SalvageReport {
        workers = List.copyOf(workers);
        problems = List.copyOf(problems);
    }

    /** Whether all that was there is in the new home. */
    public boolean isWhole() {
        return problems.isEmpty() && workers.stream().allMatch(SalvagedWorker::isWhole);
    }
}
