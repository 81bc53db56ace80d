package io.waybill.replay.state;

import io.waybill.replay.recording.RecordedMessage;
import io.waybill.replay.state.CallSchedule.Before;

/**
 * Follows the numbers that a worker gave to its handlers' runs, from 1 in each incarnation, and so knows which runs are missing before a call.
 * One thread.
 */
final class StateHistory {

    private final String missing;
    private long epoch = -1; // of the incarnation; -1 before the first call
    private int incarnations;
    private long seen; // calls of this incarnation
    private long highest; // number of these
    private long unknownCount; // that the text names
    private String unknown = "";

    StateHistory(Before before) {
        missing = before == Before.NONE
                ? " calls that its worker began before it were left out"
                : " calls that its worker began before it are not on record here";
    }

    /** Takes the next call to which a handler responded. Returns why the state that it found is not known; empty when it may be. */
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
        if (incarnations == 1 && absent > unknownCount) { // a later one does not make it known
            unknownCount = absent;
            unknown = absent + missing;
        }
        return unknown;
    }
}
