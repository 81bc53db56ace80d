package io.waybill.bench;

import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.Percentiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.queue.ChronicleQueue;
import net.openhft.chronicle.queue.ExcerptAppender;
import net.openhft.chronicle.queue.ExcerptTailer;
import net.openhft.chronicle.queue.RollCycles;
import net.openhft.chronicle.queue.impl.single.SingleChronicleQueueBuilder;
import net.openhft.chronicle.wire.DocumentContext;
import org.HdrHistogram.Histogram;

/**
 * The raw limit: two processes that echo bytes through Chronicle queues, each writing its own queue and reading the other's read-only,
 * spinning, with nothing around them.
 */
final class RawPeer {

    static final String ECHO = "raw-echo";
    static final String PING = "raw-ping";
    static final String PIPELINE = "raw-pipeline";

    private static final String STARTED = "started";

    private final ExcerptAppender appender;
    private final ExcerptTailer tailer;
    private final byte[] bytes;

    private RawPeer(Path own, Path other, int size) throws IOException {
        BenchProcess.endWithParent();
        appender = queue(own, false).createAppender();
        write(size); // so that the other one finds a queue
        own.resolve(STARTED).toFile().createNewFile();
        BenchProcess.ready();
        while (!other.resolve(STARTED)
                .toFile()
                .exists()) { // a queue that is only half made is read as empty indefinitely
            Thread.onSpinWait();
        }
        tailer = queue(other, true).createTailer();
        bytes = new byte[size];
        while (!read()) {
            Thread.onSpinWait();
        }
    }

    private static ChronicleQueue queue(Path directory, boolean readOnly) {
        return SingleChronicleQueueBuilder.binary(directory)
                .rollCycle(RollCycles.FAST_DAILY)
                .readOnly(readOnly)
                .build();
    }

    private void write(int size) {
        try (DocumentContext document = appender.writingDocument()) {
            Bytes<?> to = document.wire().bytes();
            if (bytes == null) {
                to.write(new byte[size]);
            } else {
                to.write(bytes);
            }
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

    static void echo(String[] arguments) throws IOException {
        RawPeer peer =
                new RawPeer(Path.of(arguments[0], "b"), Path.of(arguments[0], "a"), Integer.parseInt(arguments[1]));
        while (true) { // until it is ended
            peer.awaitOne();
            peer.write(peer.bytes.length);
        }
    }

    static void ping(String[] arguments) throws IOException {
        RawPeer peer =
                new RawPeer(Path.of(arguments[0], "a"), Path.of(arguments[0], "b"), Integer.parseInt(arguments[1]));
        int count = Integer.parseInt(arguments[2]);
        Histogram times = new Histogram(TimeUnit.SECONDS.toNanos(10), 3);
        for (int round = 0; round < 2; round++) { // the first warms up
            times.reset();
            for (int i = 0; i < count; i++) {
                long startNs = System.nanoTime();
                peer.write(peer.bytes.length);
                peer.awaitOne();
                times.recordValue(System.nanoTime() - startNs);
            }
        }
        BenchProcess.report(Percentiles.of(times));
        BenchProcess.awaitEnd();
    }

    static void pipeline(String[] arguments) throws IOException {
        RawPeer peer =
                new RawPeer(Path.of(arguments[0], "a"), Path.of(arguments[0], "b"), Integer.parseInt(arguments[1]));
        int count = Integer.parseInt(arguments[2]);
        int window = Integer.parseInt(arguments[3]);
        double perSecond = 0;
        for (int round = 0; round < 2; round++) {
            int sent = 0;
            int received = 0;
            long startNs = System.nanoTime();
            while (received < count) {
                while (sent < count && sent - received < window) {
                    peer.write(peer.bytes.length);
                    sent++;
                }
                while (peer.read()) {
                    received++;
                }
            }
            perSecond = count * 1e9 / (System.nanoTime() - startNs);
        }
        BenchProcess.report(new Figures().put("calls_per_s", Math.round(perSecond)));
        BenchProcess.awaitEnd();
    }
}
