package io.waybill.replay.run;

import io.waybill.replay.compare.ReplayedCall;
import java.util.ArrayList;
import java.util.List;

/**
 * Calls that are handed between threads together. Belongs to one thread at a time.
 *
 * @param replayed results of the first ones
 */
record CallBatch(List<CallToReplay> calls, List<ReplayedCall> replayed) {

    CallBatch(List<CallToReplay> calls) {
        this(calls, new ArrayList<>(calls.size()));
    }

    boolean isDone() {
        return replayed.size() == calls.size();
    }

    /** The first call without a result. */
    CallToReplay current() {
        return calls.get(replayed.size());
    }
}
