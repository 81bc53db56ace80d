package io.waybill.replay.state;

import io.waybill.replay.recording.RecordedCall;

/**
 * A call that is to run.
 *
 * @param isSelected whether its response is compared and reported; otherwise it only leaves its state
 * @param unknown why the state that its handler finds may be another one than on record; empty when it is not known to be
 */
public record ScheduledCall(RecordedCall call, boolean isSelected, String unknown) {

    /** Returns the same call, to be run once more on the same handlers. */
    public ScheduledCall again() {
        return new ScheduledCall(call, isSelected, "this replay had run it before");
    }
}
