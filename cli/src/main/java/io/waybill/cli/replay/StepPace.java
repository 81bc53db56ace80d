package io.waybill.cli.replay;

import io.waybill.api.MessageId;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.replay.run.ReplayPace;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;

/**
 * Pace that waits before each request for a line; at the end of the input it runs the rest. For the one thread that
 * runs them.
 */
final class StepPace implements ReplayPace {

    private final InputStream lines;
    private final PrintWriter err;
    private boolean ended;

    StepPace(InputStream lines, PrintWriter err) {
        this.lines = lines;
        this.err = err;
    }

    @Override
    public void await(RecordedCall call) {
        if (ended) {
            return;
        }
        err.print("call " + MessageId.text(call.id()) + " is next; press Enter ");
        err.flush();
        try {
            int read = lines.read();
            while (read >= 0 && read != '\n') {
                read = lines.read();
            }
            ended = read < 0;
        } catch (IOException e) {
            ended = true; // treated as its end
        }
    }
}
