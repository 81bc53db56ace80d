package io.waybill.replay.run;

import io.waybill.replay.compare.ReplayedCall;
import java.io.IOException;

/** Takes replayed calls as they come, one after the other, on the thread that runs the replay. */
@FunctionalInterface
public interface CallSink {

    /** The tensors of its responses are good until this returns. */
    void accept(ReplayedCall call) throws IOException;
}
