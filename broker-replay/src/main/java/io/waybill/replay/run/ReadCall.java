package io.waybill.replay.run;

import io.waybill.replay.Answer;
import io.waybill.replay.RecordedCall;
import java.util.Optional;

/**
 * A recorded call as it was read ahead. Immutable.
 *
 * @param operation of a call by name; the type's name otherwise
 * @param recorded the answer on record; empty when there is none to compare, or when its tensors are still to be read
 * @param unfit why it can't be replayed; empty when it can
 */
record ReadCall(RecordedCall call, String operation, Optional<Answer> recorded, String unfit) {

    boolean isFit() {
        return unfit.isEmpty();
    }
}
