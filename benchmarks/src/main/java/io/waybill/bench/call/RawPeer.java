package io.waybill.bench.call;

import io.waybill.bench.measure.Phase;
import io.waybill.bench.measure.Phases;
import io.waybill.bench.measure.Work;
import io.waybill.bench.process.ChildProcess;
import java.io.IOException;
import java.nio.file.Path;
import net.openhft.chronicle.queue.ChronicleQueue;
import net.openhft.chronicle.queue.ExcerptAppender;
import net.openhft.chronicle.queue.ExcerptTailer;
import net.openhft.chronicle.queue.RollCycles;
import net.openhft.chronicle.queue.impl.single.SingleChronicleQueueBuilder;
import net.openhft.chronicle.wire.DocumentContext;

/**
 * The raw limit: two processes that echo bytes through Chronicle queues, each writing its own queue and reading the
 * other's read-only, spinning, with nothing around them.
 */
public final class RawPeer {

    public static final String SERVER_ROLE = "raw-echo";
    public static final String ROLE = "raw-caller";

    private static final String STARTED = "started";

    private final ExcerptAppender appender;
    private final byte[] bytes;
    private ExcerptTailer tailer; // null until the queue of the other one is there

    private RawPeer(Path own, int size) throws IOException {
        appender = queue(own, false).createAppender();
        bytes = new byte[size];
        write(); // so that the other one finds a queue
        own.resolve(STARTED).toFile().createNewFile();
    }

    /** Waits for the queue of the other one, and its first message. */
    private void open(Path other) {
        // a queue that is only half made is read as empty indefinitely
        while (!other.resolve(STARTED).toFile().exists()) {
            Thread.onSpinWait();
        }
        tailer = queue(other, true).createTailer();
        awaitOne();
    }

    private static ChronicleQueue queue(Path directory, boolean readOnly) {
        return SingleChronicleQueueBuilder.binary(directory)
                .rollCycle(RollCycles.FAST_DAILY)
                .readOnly(readOnly)
                .build();
    }

    private void write() {
        try (DocumentContext document = appender.writingDocument()) {
            document.wire().bytes().write(bytes);
        }
    }

    private boolean read() {
        try (DocumentContext document = tailer.readingDocument()) {
            if (!document.isPresent()) {
                return false;
            }
            document.wire().bytes().read(bytes);
            return true;
        }
    }

    private void awaitOne() {
        while (!read()) {
            Thread.onSpinWait();
        }
    }

    /** Arguments: see {@link MeasuredSystem}. */
    public static void echo(String[] arguments) throws IOException {
        CallLoad load = CallLoad.parse(arguments[1]);
        ChildProcess.endWithParent();
        RawPeer peer = new RawPeer(Path.of(arguments[0], "b"), load.sizeBytes());
        ChildProcess.ready();
        peer.open(Path.of(arguments[0], "a"));
        while (true) { // until it is ended
            peer.awaitOne();
            load.work().perform(peer.bytes);
            peer.write();
        }
    }

    /** Arguments: see {@link MeasuredSystem}. */
    public static void run(String[] arguments) throws IOException {
        CallLoad load = CallLoad.parse(arguments[1]);
        RawPeer peer = new RawPeer(Path.of(arguments[0], "a"), load.sizeBytes());
        peer.open(Path.of(arguments[0], "b"));
        ChildProcess.ready();
        ChildProcess.awaitBegin();
        ChildProcess.endWithParent();
        Phases.Calls calls = load.inFlight() == 1
                ? Phases.oneByOne(() -> peer.ping(load.work()))
                : phase -> peer.pipeline(phase, load);
        ChildProcess.report(load.phases().measure(Long.parseLong(arguments[3]), calls));
        ChildProcess.awaitEnd();
    }

    private long ping(Work work) {
        write();
        awaitOne();
        return work.takenNs(bytes);
    }

    private long pipeline(Phase phase, CallLoad load) {
        long sent = 0;
        long received = 0;
        for (boolean isOver = false; !isOver || received < sent; ) {
            for (isOver |= phase.isOver(sent); !isOver && sent - received < load.inFlight(); sent++) {
                phase.begin(sent);
                write();
            }
            for (; read(); received++) {
                if (phase.isTimed(received)) {
                    phase.end(load.work().takenNs(bytes));
                }
            }
        }
        return sent;
    }
}
