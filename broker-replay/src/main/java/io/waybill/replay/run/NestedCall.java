package io.waybill.replay.run;

import io.waybill.replay.recording.RecordedCall;
import java.util.Optional;

/** A recorded call of a handler, decoded. Immutable. */
record NestedCall(RecordedCall call, RecordContent request, Optional<RecordContent> response) {

    /**
     * Returns whether the other call may have been sent before this one's response, so the order of the two is
     * uncertain.
     */
    boolean overlaps(NestedCall later) {
        return response.isEmpty() || later.request.sentNs() <= response.get().sentNs();
    }
}
