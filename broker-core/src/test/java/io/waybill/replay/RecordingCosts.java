package io.waybill.replay;

import io.waybill.api.WorkerInfo;
import io.waybill.host.Host;
import io.waybill.query.MessageFilter;
import java.io.IOException;
import java.nio.file.Path;

/** Measures how fast a recording gives what a worker handled. Arguments: the home, the worker's name, how often. */
final class RecordingCosts {

    private RecordingCosts() {}

    public static void main(String[] args) throws IOException {
        for (int round = 0; round < Integer.parseInt(args[2]); round++) {
            try (HomeRecording recording = HomeRecording.open(Path.of(args[0]), Host.real())) {
                WorkerInfo worker = RecordedHome.worker(recording, args[1]);
                measure(recording, worker);
            }
        }
    }

    private static void measure(HomeRecording recording, WorkerInfo worker) throws IOException {
        long startNs = System.nanoTime();
        long calls = 0;
        long nested = 0;
        try (Recording.Handled handled = recording.handled(worker, MessageFilter.ALL)) {
            for (RecordedCall call = handled.next(); call != null; call = handled.next()) {
                calls++;
                nested += recording.nested(call.id()).size();
            }
        }
        double seconds = (System.nanoTime() - startNs) / 1e9;
        System.out.printf(
                "%d calls and %d below them in %.2f s: %.0f calls/s%n", calls, nested, seconds, calls / seconds);
    }
}
