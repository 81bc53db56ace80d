package io.waybill.replay.state;

import io.waybill.replay.recording.RecordedCall;

/**
 * A call that a replay runs.
 *
 * @param isSelected whether its response is compared and reported; otherwise it runs only for its state
 * @param unknown why the state of its handler may differ from the recorded one; empty if it is not known to differ
 */
public record ScheduledCall(RecordedCall call, boolean isSelected, String unknown) {

    /** Returns the same call, for one more run on the same handlers. */
    public ScheduledCall again() {
        return new ScheduledCall(call, isSelected, "this replay had run it before");
    }
}
