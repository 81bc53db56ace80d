package io.waybill.cli.replay;

import io.waybill.host.Clock;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.replay.run.ReplayPace;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.util.concurrent.TimeUnit;

/** Pace that preserves the intervals at which requests were sent. For the one thread that runs them. */
final class RecordedPace implements ReplayPace {

    private final Clock clock;
    private final MessageBuffer buffer = new MessageBuffer();
    private boolean begun;
    private long offsetNs; // from the send time of the first request to now

    RecordedPace(Clock clock) {
        this.clock = clock;
    }

    @Override
    public void await(RecordedCall call) throws InterruptedException {
        RecordView request = call.request().in(buffer);
        long nowNs = clock.monotonicNs();
        if (!begun) {
            begun = true;
            offsetNs = nowNs - request.sentNs();
        }
        TimeUnit.NANOSECONDS.sleep(request.sentNs() + offsetNs - nowNs);
    }
}
