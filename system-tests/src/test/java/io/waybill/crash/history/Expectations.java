package io.waybill.crash.history;

import java.util.Set;

/**
 * What a run does and lets happen, and what a checker goes by. Immutable.
 *
 * @param ordered types whose requests are begun in the order in which they were sent
 * @param serial of those, the types whose handler runs one request after the other on one thread
 * @param repeatable types whose handler is declared to run at least once
 * @param failures numbers of the errors that the faults of the run explain
 * @param diskFills whether responses may find no room
 * @param stopsProcesses whether times between what one process did and another say nothing, because each may have been stopped
 */
public record Expectations(
        Set<Integer> ordered,
        Set<Integer> serial,
        Set<Integer> repeatable,
        Set<Integer> failures,
        boolean diskFills,
        boolean stopsProcesses) {}
