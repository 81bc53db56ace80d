package io.waybill.replay;

import io.waybill.api.WorkerInfo;
import io.waybill.host.Host;
import io.waybill.query.MessageFilter;
import io.waybill.replay.recording.CallRecording;
import io.waybill.replay.recording.HomeRecording;
import io.waybill.replay.recording.RecordedCall;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;

/**
 * Measures how fast a recording gives what a worker handled, in time of this thread on a processor. Arguments: the home, the worker's name,
 * how often, and {@code nested} to have what each handler called as well.
 */
final class RecordingCosts {

    private RecordingCosts() {}

    public static void main(String[] args) throws IOException {
        for (int round = 0; round < Integer.parseInt(args[2]); round++) {
            try (HomeRecording recording = HomeRecording.open(Path.of(args[0]), Host.real())) {
                WorkerInfo worker = RecordedHome.worker(recording, args[1]);
                measure(recording, worker, args.length > 3);
            }
        }
    }

    private static void measure(HomeRecording recording, WorkerInfo worker, boolean withNested) throws IOException {
        long startNs = cpuNs();
        long calls = 0;
        long nested = 0;
        try (CallRecording.Handled handled = recording.handled(worker, MessageFilter.ALL)) {
            for (RecordedCall call = handled.next(); call != null; call = handled.next()) {
                calls++;
                nested += withNested ? recording.nested(call).size() : 0;
            }
        }
        double seconds = (cpuNs() - startNs) / 1e9;
        System.out.printf(
                "%d calls and %d below them in %.2f s: %.0f calls/s%n", calls, nested, seconds, calls / seconds);
    }

    private static long cpuNs() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }
}
