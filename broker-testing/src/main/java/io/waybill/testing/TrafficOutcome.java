package io.waybill.testing;

import java.util.List;

/**
 * What became of calls that went on while something else happened. Immutable.
 *
 * @param calls how many were made
 * @param answered of those, rightly
 * @param wrong answered, but not rightly
 * @param failed ended with an error; a call that got no answer ends with {@code TIMED_OUT}
 * @param firstProblems what the first of those that went wrong were told
 */
public record TrafficOutcome(long calls, long answered, long wrong, long failed, List<String> firstProblems) {

    public TrafficOutcome {
        firstProblems = List.copyOf(firstProblems);
    }

    /** Calls without any outcome. */
    public long lost() {
        return calls - answered - wrong - failed;
    }

    boolean isWhole() {
        return answered == calls;
    }
}
