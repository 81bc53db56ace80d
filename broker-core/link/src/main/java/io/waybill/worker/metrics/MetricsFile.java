package io.waybill.worker.metrics;

import io.waybill.api.ErrorCode;
import io.waybill.api.WorkerInfo;
import io.waybill.api.metrics.LatencyHistogram;
import io.waybill.api.metrics.OperationMetrics;
import io.waybill.api.metrics.WorkerMetrics;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.zip.CRC32C;
import org.agrona.ExpandableArrayBuffer;

/**
 * The file {@code metrics} in a worker's directory: its {@link WorkerFigures}. It is replaced as a whole, so a reader
 * finds one state or the next. {@code docs/reference/metrics-file.md} has its bytes.
 *
 * <p><b>Threads.</b> An object belongs to the thread that writes; reading is static, and for any thread.
 */
public final class MetricsFile {

    static final String NAME = "metrics";

    /** Max size: twice the largest tables with long names, all errors and all buckets. */
    static final int MAX_BYTES = 32 << 20;

    /** {@code WMET} as it reads in a file of little-endian numbers. */
    static final int MAGIC = 0x54454d57;

    static final int VERSION = 1;
    static final int LENGTH_AT = 12;
    static final int HEADER_BYTES = 72;

    private final Path file;
    private final SafeFiles files;
    private final ExpandableArrayBuffer bytes = new ExpandableArrayBuffer(4096);
    private int at;

    public MetricsFile(Path workerDirectory, SafeFiles files) {
        this.file = workerDirectory.resolve(NAME);
        this.files = files;
    }

    /** Reads the figures that a worker published last; empty when it has published none. */
    public static Optional<WorkerFigures> read(WorkerInfo worker, Path workerDirectory, SafeFiles files)
            throws IOException {
        Path file = workerDirectory.resolve(NAME);
        try {
            return Optional.of(new MetricsBytes(file, files.readSmall(file, MAX_BYTES)).figures(worker));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    /** Replaces the file. */
    public void write(WorkerFigures figures) throws IOException {
        files.replaceUnsynced(file, encode(figures));
    }

    byte[] encode(WorkerFigures figures) {
        WorkerMetrics metrics = figures.metrics();
        at = 0;
        putInt(0); // the checksum
        putInt(MAGIC);
        putInt(VERSION);
        putInt(0); // the length
        putInt(metrics.worker().id());
        putInt(metrics.values().size());
        putInt(figures.unread().size());
        putInt(metrics.served().size());
        putInt(metrics.called().size());
        putInt(0);
        putLong(metrics.epoch());
        putLong(metrics.pid());
        putLong(metrics.startedMs());
        putLong(metrics.publishedMs());
        for (Map.Entry<String, Long> value : new TreeMap<>(metrics.values()).entrySet()) {
            putText(value.getKey());
            putLong(value.getValue());
        }
        for (Map.Entry<Integer, Long> requests : new TreeMap<>(figures.unread()).entrySet()) {
            putInt(requests.getKey());
            putLong(requests.getValue());
        }
        for (List<OperationMetrics> side : List.of(metrics.served(), metrics.called())) {
            for (OperationMetrics operation : side) {
                put(operation);
            }
        }
        bytes.putInt(LENGTH_AT, at, ByteOrder.LITTLE_ENDIAN);
        byte[] content = new byte[at];
        bytes.getBytes(0, content);
        CRC32C checksum = new CRC32C();
        checksum.update(content, Integer.BYTES, at - Integer.BYTES);
        bytes.putInt(0, (int) checksum.getValue(), ByteOrder.LITTLE_ENDIAN);
        bytes.getBytes(0, content, 0, Integer.BYTES);
        return content;
    }

    private void put(OperationMetrics operation) {
        putShort(operation.type().code());
        putText(operation.operation());
        putText(operation.peer());
        putLong(operation.requestBytes());
        putLong(operation.responseBytes());
        putLong(operation.inFlight());
        putLong(operation.parked());
        LatencyHistogram latency = operation.latency();
        putLong(latency.sumNs());
        putLong(latency.maxNs());
        putShort(operation.errors().size());
        for (Map.Entry<ErrorCode, Long> error : new TreeMap<>(operation.errors()).entrySet()) {
            putShort(error.getKey().number());
            putLong(error.getValue());
        }
        int countAt = at;
        putShort(0);
        int used = 0;
        for (int i = 0; i < latency.usedBuckets(); i++) {
            if (latency.count(i) > 0) {
                putShort(i);
                putLong(latency.count(i));
                used++;
            }
        }
        bytes.putShort(countAt, (short) used, ByteOrder.LITTLE_ENDIAN);
    }

    private void putShort(int value) {
        bytes.putShort(at, (short) value, ByteOrder.LITTLE_ENDIAN);
        at += Short.BYTES;
    }

    private void putInt(int value) {
        bytes.putInt(at, value, ByteOrder.LITTLE_ENDIAN);
        at += Integer.BYTES;
    }

    private void putLong(long value) {
        bytes.putLong(at, value, ByteOrder.LITTLE_ENDIAN);
        at += Long.BYTES;
    }

    private void putText(String text) {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        putShort(utf8.length);
        bytes.putBytes(at, utf8);
        at += utf8.length;
    }
}
