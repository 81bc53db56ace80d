package io.waybill.salvage;

import java.util.List;

/**
 * Result of the salvage of a home. Immutable.
 *
 * @param problems problems of the home itself: omitted parts, with the reasons
 */
public record SalvageReport(List<SalvagedWorker> workers, List<String> problems) {

    public SalvageReport {
        workers = List.copyOf(workers);
        problems = List.copyOf(problems);
    }

    /** Returns whether the new home contains all data of the old one. */
    public boolean isWhole() {
        return problems.isEmpty() && workers.stream().allMatch(SalvagedWorker::isWhole);
    }
}
