package io.waybill.worker.metrics;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.WorkerInfo;
import io.waybill.api.metrics.LatencyHistogram;
import io.waybill.api.metrics.OperationMetrics;
import io.waybill.api.metrics.WorkerMetrics;
import io.waybill.home.error.MalformedHomeFileException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;

/** Decodes a {@link MetricsFile}. Everything in it is checked: each error names the file and the byte. For one use. */
final class MetricsBytes {

    private static final int MIN_OPERATION_BYTES = 58;
    private static final int MIN_VALUE_BYTES = 10;
    private static final int UNREAD_BYTES = 12;

    private final Path file;
    private final ByteBuffer bytes;

    MetricsBytes(Path file, byte[] content) {
        this.file = file;
        this.bytes = ByteBuffer.wrap(content).order(ByteOrder.LITTLE_ENDIAN);
    }

    WorkerFigures figures(WorkerInfo worker) throws MalformedHomeFileException {
        checkHeader(worker);
        bytes.position(20);
        int values = count("values", MIN_VALUE_BYTES);
        int unread = count("peers", UNREAD_BYTES);
        int served = count("served operations", MIN_OPERATION_BYTES);
        int called = count("called operations", MIN_OPERATION_BYTES);
        bytes.getInt();
        long epoch = bytes.getLong();
        long pid = bytes.getLong();
        long startedMs = bytes.getLong();
        long publishedMs = bytes.getLong();
        Map<String, Long> named = values(values);
        Map<Integer, Long> unreadBy = unread(unread);
        List<OperationMetrics> servedOperations = operations(served);
        List<OperationMetrics> calledOperations = operations(called);
        if (bytes.hasRemaining()) {
            throw malformed("the end", bytes.remaining() + " bytes more");
        }
        return new WorkerFigures(
                new WorkerMetrics(
                        worker, epoch, pid, startedMs, publishedMs, servedOperations, calledOperations, named),
                unreadBy);
    }

    private void checkHeader(WorkerInfo worker) throws MalformedHomeFileException {
        if (bytes.limit() < MetricsFile.HEADER_BYTES) {
            throw malformed(MetricsFile.HEADER_BYTES + " bytes at least", String.valueOf(bytes.limit()));
        }
        bytes.position(4);
        require("the mark of a metrics file", MetricsFile.MAGIC);
        require("version", MetricsFile.VERSION);
        require("length", bytes.limit());
        bytes.position(0);
        CRC32C checksum = new CRC32C();
        checksum.update(bytes.array(), Integer.BYTES, bytes.limit() - Integer.BYTES);
        require("checksum", (int) checksum.getValue());
        bytes.position(16);
        require("worker id", worker.id());
    }

    private void require(String what, int expected) throws MalformedHomeFileException {
        int found = bytes.getInt(bytes.position());
        if (found != expected) {
            throw malformed(what + " 0x" + Integer.toHexString(expected), "0x" + Integer.toHexString(found));
        }
        bytes.getInt();
    }

    private int count(String what, int minBytesEach) throws MalformedHomeFileException {
        int count = bytes.getInt(bytes.position());
        if (count < 0 || count > (bytes.limit() - MetricsFile.HEADER_BYTES) / minBytesEach) {
            throw malformed("a number of " + what + " that fit", String.valueOf(count));
        }
        bytes.getInt();
        return count;
    }

    private Map<String, Long> values(int count) throws MalformedHomeFileException {
        Map<String, Long> values = new HashMap<>();
        for (int i = 0; i < count; i++) {
            String name = text();
            values.put(name, number());
        }
        return values;
    }

    private Map<Integer, Long> unread(int count) throws MalformedHomeFileException {
        Map<Integer, Long> unread = new HashMap<>();
        for (int i = 0; i < count; i++) {
            need(Integer.BYTES);
            int peer = bytes.getInt();
            unread.put(peer, notNegative());
        }
        return unread;
    }

    private List<OperationMetrics> operations(int count) throws MalformedHomeFileException {
        List<OperationMetrics> operations = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            operations.add(operation());
        }
        return operations;
    }

    private OperationMetrics operation() throws MalformedHomeFileException {
        MessageType type = type();
        String operation = text();
        String peer = text();
        long requestBytes = notNegative();
        long responseBytes = notNegative();
        long inFlight = notNegative();
        long parked = notNegative();
        long sumNs = notNegative();
        long maxNs = notNegative();
        Map<ErrorCode, Long> errors = new EnumMap<>(ErrorCode.class);
        int codes = unsignedShort();
        for (int i = 0; i < codes; i++) {
            errors.merge(ErrorCode.of(unsignedShort()), notNegative(), Long::sum);
        }
        LatencyHistogram latency = LatencyHistogram.of(buckets(), sumNs, maxNs);
        return new OperationMetrics(
                type, operation, peer, latency.count(), errors, requestBytes, responseBytes, inFlight, parked, latency);
    }

    private MessageType type() throws MalformedHomeFileException {
        int code = unsignedShort();
        try {
            return MessageType.of(code);
        } catch (IllegalArgumentException e) {
            bytes.position(bytes.position() - Short.BYTES);
            throw malformed("the code of a message type", "0x" + Integer.toHexString(code));
        }
    }

    private long[] buckets() throws MalformedHomeFileException {
        long[] counts = new long[LatencyHistogram.BUCKETS];
        int used = unsignedShort();
        int last = -1;
        for (int i = 0; i < used; i++) {
            int bucket = unsignedShort();
            if (bucket <= last || bucket >= counts.length) {
                bytes.position(bytes.position() - Short.BYTES);
                throw malformed("a bucket from " + (last + 1) + " to " + (counts.length - 1), String.valueOf(bucket));
            }
            last = bucket;
            counts[bucket] = notNegative();
        }
        return counts;
    }

    private String text() throws MalformedHomeFileException {
        int length = unsignedShort();
        need(length);
        byte[] utf8 = new byte[length];
        bytes.get(utf8);
        return new String(utf8, StandardCharsets.UTF_8);
    }

    private int unsignedShort() throws MalformedHomeFileException {
        need(Short.BYTES);
        return Short.toUnsignedInt(bytes.getShort());
    }

    private long number() throws MalformedHomeFileException {
        need(Long.BYTES);
        return bytes.getLong();
    }

    private long notNegative() throws MalformedHomeFileException {
        need(Long.BYTES);
        long number = bytes.getLong(bytes.position());
        if (number < 0) {
            throw malformed("0 or more", String.valueOf(number));
        }
        return bytes.getLong();
    }

    private void need(int more) throws MalformedHomeFileException {
        if (bytes.remaining() < more) {
            throw malformed(more + " bytes more", "the end at " + bytes.limit());
        }
    }

    private MalformedHomeFileException malformed(String expected, String found) {
        return new MalformedHomeFileException(
                file + ": expected " + expected + ", found " + found + ", at byte " + bytes.position());
    }
}
