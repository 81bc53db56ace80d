package io.waybill.replay;

import io.waybill.replay.Recording.Handled;
import java.io.IOException;

/** What a worker handled, each call several times. For one thread. Closes what it reads. */
final class RepeatedCalls implements Handled {

    private final Handled calls;
    private final int times;
    private RecordedCall call;
    private int left; // of the times of this call

    RepeatedCalls(Handled calls, int times) {
        this.calls = calls;
        this.times = times;
    }

    @Override
    public RecordedCall next() throws IOException {
        if (left == 0) {
            call = calls.next();
            left = times;
        }
        left--;
        return call;
    }

    @Override
    public void close() throws IOException {
        calls.close();
    }
}
