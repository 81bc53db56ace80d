package io.waybill.worker.metrics;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.metrics.LatencyHistogram;
import io.waybill.api.metrics.OperationMetrics;
import io.waybill.event.NameBytes;
import java.nio.charset.StandardCharsets;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLongArray;
import org.agrona.DirectBuffer;

/**
 * Counts of the requests of one type and operation between this worker and one peer, on one side.
 *
 * <p><b>Threads.</b> Each method that counts names the lock or permit that its caller holds; any thread reads. So
 * nothing here is atomic or locked, apart from what is rare.
 */
public final class OperationCounts {

    private static final ErrorCode[] CODES = ErrorCode.values();

    private final int typeCode;
    private final int peerId;
    private final String peer;
    private final byte[] name;
    private final SingleWriterCounter begun = new SingleWriterCounter();
    private final SingleWriterCounter left = new SingleWriterCounter();
    private final SingleWriterCounter parked = new SingleWriterCounter();
    private final SingleWriterCounter unparked = new SingleWriterCounter();
    private final LatencyCells ended = new LatencyCells();
    private final LatencyCells endedElsewhere = new LatencyCells(); // its own lock guards it
    private volatile AtomicLongArray errors; // null until the first one; set under the lock of this object

    OperationCounts(int typeCode, int peerId, String peer, byte[] name) {
        this.typeCode = typeCode;
        this.peerId = peerId;
        this.peer = peer;
        this.name = name;
    }

    // ---- identity

    boolean is(int type, int worker, DirectBuffer bytes, int at, int length) {
        return type == typeCode && worker == peerId && NameBytes.isSame(name, bytes, at, length);
    }

    boolean is(int type, int worker, byte[] bytes, int at, int length) {
        return type == typeCode && worker == peerId && NameBytes.isSame(name, bytes, at, length);
    }

    /** Returns whether it counts requests whose operation is not named. */
    public boolean isUnnamed() {
        return name.length == 0;
    }

    // ---- counting

    /**
     * Counts a request that was sent, or read. Under the lock of the requests' appender; for read requests, with the
     * poll permit.
     */
    public void begun() {
        begun.increment();
    }

    /**
     * Counts a request that was read as no longer in flight: it is read again, or counted elsewhere. With the poll
     * permit.
     */
    public void left() {
        left.increment();
    }

    /** Counts a request that waits for a handler, a policy or a thread. With the poll permit. */
    public void parked() {
        parked.increment();
    }

    /** Counts a request that no longer waits. With the poll permit. */
    public void unparked() {
        unparked.increment();
    }

    /**
     * Counts an outcome. For a call, with the poll permit; for a request that was read, under the lock of the
     * responses' appender.
     *
     * @param error null for none
     */
    public void ended(ErrorCode error, long latencyNs, int requestBytes, int responseBytes) {
        if (error != null) {
            errors().getAndIncrement(error.ordinal());
        }
        ended.add(latencyNs, requestBytes, responseBytes);
    }

    /**
     * Counts the outcome of a call that a thread without the permit completes. Any thread.
     *
     * @param error null for none
     */
    public void endedElsewhere(ErrorCode error, long latencyNs, int requestBytes, int responseBytes) {
        if (error != null) {
            errors().getAndIncrement(error.ordinal());
        }
        synchronized (endedElsewhere) {
            endedElsewhere.add(latencyNs, requestBytes, responseBytes);
        }
    }

    private AtomicLongArray errors() {
        AtomicLongArray known = errors;
        return known != null ? known : firstErrors();
    }

    private synchronized AtomicLongArray firstErrors() {
        if (errors == null) {
            errors = new AtomicLongArray(CODES.length);
        }
        return errors;
    }

    // ---- reading

    /** Returns a number that grows with each change. */
    long changes() {
        return begun.sum() + left.sum() + parked.sum() + unparked.sum() + ended.count() + endedElsewhere.count();
    }

    /** Returns the present figures. */
    OperationMetrics read() {
        long unparkedNow = unparked.sum(); // before the counts that are higher
        long leftNow = left.sum();
        LatencyHistogram latency = ended.latency().plus(endedElsewhere.latency());
        long requestBytes = ended.requestBytes() + endedElsewhere.requestBytes();
        long responseBytes = ended.responseBytes() + endedElsewhere.responseBytes();
        return new OperationMetrics(
                MessageType.of(typeCode),
                new String(name, StandardCharsets.UTF_8),
                peer,
                latency.count(),
                errorsByCode(),
                requestBytes,
                responseBytes,
                Math.max(0, begun.sum() - leftNow - latency.count()),
                Math.max(0, parked.sum() - unparkedNow),
                latency);
    }

    private Map<ErrorCode, Long> errorsByCode() {
        Map<ErrorCode, Long> byCode = new EnumMap<>(ErrorCode.class);
        AtomicLongArray known = errors;
        for (int i = 0; known != null && i < CODES.length; i++) {
            if (known.get(i) > 0) {
                byCode.put(CODES[i], known.get(i));
            }
        }
        return byCode;
    }
}
