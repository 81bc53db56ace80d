package io.waybill.replay.run;

import io.waybill.replay.ReplayedCall;
import java.util.ArrayList;
import java.util.List;

/**
 * Some calls on their way from the record through the handlers. Belongs to one thread at a time.
 *
 * @param read what was read ahead
 * @param replayed of these the first ones, with what became of them
 * @param current results of the call that is in hand, one for each contender that ran it
 */
record Batch(List<ReadCall> read, List<ReplayedCall> replayed, List<ReplayedCall.Result> current) {

    Batch(List<ReadCall> read) {
        this(read, new ArrayList<>(read.size()), new ArrayList<>());
    }

    boolean isDone() {
        return replayed.size() == read.size();
    }

    /** The call in hand. */
    ReadCall next() {
        return read.get(replayed.size());
    }

    /** It is done. */
    void add(ReplayedCall call) {
        replayed.add(call);
        current.clear();
    }
}
