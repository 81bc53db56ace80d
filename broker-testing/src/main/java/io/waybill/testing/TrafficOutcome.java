package io.waybill.testing;

import java.util.List;

/**
 * What became of calls that went on while something else happened. Immutable.
 *
 * @param calls how many were made
 * @param responded of those, rightly
 * @param wrong answered, but not rightly
 * @param failed ended with an error; a call that got no response ends with {@code TIMED_OUT}
 * @param firstProblems what the first of those that went wrong were told
 */
public record TrafficOutcome(long calls, long responded, long wrong, long failed, List<String> firstProblems) {

    public TrafficOutcome {
        firstProblems = List.copyOf(firstProblems);
    }

    /** Calls without any outcome. */
    public long lost() {
        return calls - responded - wrong - failed;
    }

    boolean isWhole() {
        return responded == calls;
    }
}
