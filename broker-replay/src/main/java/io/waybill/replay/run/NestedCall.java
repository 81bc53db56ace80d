package io.waybill.replay.run;

import io.waybill.replay.recording.RecordedCall;
import java.util.Optional;

/** A call that a handler made, on record, and what it says. Immutable. */
record NestedCall(RecordedCall call, RecordContent request, Optional<RecordContent> response) {

    /** Whether the other may have been sent before this one was answered, so that either could have come first. */
    boolean overlaps(NestedCall later) {
        return response.isEmpty() || later.request.sentNs() <= response.get().sentNs();
    }
}
