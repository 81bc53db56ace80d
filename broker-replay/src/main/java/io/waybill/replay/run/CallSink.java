package io.waybill.replay.run;

import io.waybill.replay.compare.ReplayedCall;
import java.io.IOException;

/** Receiver of replayed calls, one after the other, on the thread that runs the replay. */
@FunctionalInterface
public interface CallSink {

    /** Processes a call, whose tensors are valid until this method returns. */
    void accept(ReplayedCall call) throws IOException;
}
