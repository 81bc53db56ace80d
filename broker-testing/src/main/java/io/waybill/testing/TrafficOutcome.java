package io.waybill.testing;

import java.util.List;

/**
 * Outcomes of concurrent calls during a test. Immutable.
 *
 * @param calls number of calls
 * @param responded calls with the right response
 * @param wrong calls with a wrong response
 * @param failed ended with an error; a call that got no response ends with {@code TIMED_OUT}
 * @param firstProblems descriptions of the first problems
 */
public record TrafficOutcome(long calls, long responded, long wrong, long failed, List<String> firstProblems) {

    public TrafficOutcome {
        firstProblems = List.copyOf(firstProblems);
    }

    /** Returns the number of calls without any outcome. */
    public long lost() {
        return calls - responded - wrong - failed;
    }

    boolean isWhole() {
        return responded == calls;
    }
}
