package io.waybill.replay.state;

import io.waybill.replay.recording.RecordedMessage;
import io.waybill.replay.state.CallSchedule.Before;

/**
 * Tracks the numbers of a worker's handler runs, from 1 in each incarnation, to detect runs that are missing before a
 * call. One thread.
 */
final class StateHistory {

    private final String missing;
    private long epoch = -1; // epoch of the incarnation; -1 before the first call
    private int incarnations;
    private long seen; // number of calls of this incarnation
    private long highest; // highest number of a run
    private long unknownCount; // count that the text names
    private String unknown = "";

    StateHistory(Before before) {
        missing = before == Before.NONE
                ? " calls that its worker began before it were left out"
                : " calls that its worker began before it are not on record here";
    }

    /**
     * Adds the next call to which a handler responded; returns why the state of its handler is unknown, or empty if it
     * may be known.
     */
    String before(RecordedMessage request, RecordedMessage response) {
        long sequence = response.handlerSequence();
        boolean isAcross = request.isAcrossIncarnations() || response.isAcrossIncarnations();
        if (request.epoch() > epoch || isAcross && sequence <= highest) {
            epoch = Math.max(epoch, request.epoch());
            incarnations++;
            seen = 0;
            highest = 0;
            unknownCount = 0;
            unknown = incarnations > 1 ? "its worker had begun again before it, and the replayed handlers had not" : "";
        }
        highest = Math.max(highest, sequence);
        long absent = highest - 1 - seen++;
        if (incarnations == 1 && absent > unknownCount) { // a later incarnation does not make it known
            unknownCount = absent;
            unknown = absent + missing;
        }
        return unknown;
    }
}
