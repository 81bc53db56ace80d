package io.waybill.worker.metrics;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.metrics.OperationMetrics;
import io.waybill.event.NameBytes;
import io.waybill.handling.CallReports;
import io.waybill.wire.Envelope;
import io.waybill.wire.RecordView;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The counts of one side of a worker, called or served, by type, operation and peer. It has at most {@value #MAX}
 * entries; everything beyond is counted in one more. Entries stay while the worker does.
 *
 * <p>Open addressing over a table at most a quarter full, keyed by the bytes of the name as they are in the message: a
 * lookup that finds an entry takes no lock and allocates nothing.
 *
 * <p><b>Threads.</b> Any.
 */
public final class OperationTable {

    /** Max number of entries. */
    public static final int MAX = 1024;

    private static final int NO_PEER = -1;
    private static final long MIX = 0x9e3779b97f4a7c15L;
    private static final int CAPACITY = 4 * MAX;

    private final AtomicReferenceArray<OperationCounts> slots = new AtomicReferenceArray<>(CAPACITY);
    private final List<OperationCounts> entries = new ArrayList<>(); // guarded by itself
    private final OperationCounts other = new OperationCounts(MessageType.UNKNOWN.code(), NO_PEER, "", new byte[0]);
    private volatile boolean full;
    private OperationCounts last; // of the last request sent, by any thread: most often the next one is like it

    /** Returns the counts of requests like this one, to a peer. */
    public OperationCounts of(Request request, int peerId, String peer) {
        byte[] payload = request.payloadArray();
        int type = request.type().code();
        int length = request.payloadLength() > CallReports.NAME_AT
                ? CallReports.nameLength(
                        type,
                        Byte.toUnsignedInt(payload[0]) | Byte.toUnsignedInt(payload[1]) << Byte.SIZE,
                        request.payloadLength())
                : 0;
        OperationCounts recent = last;
        if (recent != null && recent.is(type, peerId, payload, CallReports.NAME_AT, length)) {
            return recent;
        }
        OperationCounts found = find(type, peerId, peer, payload, length);
        last = found;
        return found;
    }

    private OperationCounts find(int type, int peerId, String peer, byte[] payload, int length) {
        int at = slot(NameBytes.hash(payload, CallReports.NAME_AT, length), type, peerId);
        OperationCounts found = slots.getAcquire(at);
        while (found != null && !found.is(type, peerId, payload, CallReports.NAME_AT, length)) {
            at = at + 1 & CAPACITY - 1;
            found = slots.getAcquire(at);
        }
        if (found != null) {
            return found;
        }
        byte[] name = new byte[length];
        System.arraycopy(payload, length == 0 ? 0 : CallReports.NAME_AT, name, 0, length);
        return add(type, peerId, peer, name);
    }

    /** Returns the counts of requests like this one, from a peer. */
    public OperationCounts of(RecordView request, int peerId, String peer) {
        int length = nameLength(request);
        OperationCounts found = find(request, peerId, length);
        if (found != null) {
            return found;
        }
        byte[] name = new byte[length];
        request.buffer().memory().getBytes(Envelope.HEADER_LENGTH + CallReports.NAME_AT, name);
        return add(request.typeCode(), peerId, peer, name);
    }

    /**
     * Returns the counts as {@link #of} does, if there are any yet; otherwise those of requests of this type whose
     * operation is not named.
     */
    public OperationCounts known(RecordView request, int peerId, String peer) {
        OperationCounts found = find(request, peerId, nameLength(request));
        if (found == null) {
            found = find(request, peerId, 0);
        }
        return found != null ? found : add(request.typeCode(), peerId, peer, new byte[0]);
    }

    private OperationCounts find(RecordView request, int peerId, int length) {
        int type = request.typeCode();
        UnsafeBuffer memory = request.buffer().memory();
        int nameAt = Envelope.HEADER_LENGTH + CallReports.NAME_AT;
        int at = slot(NameBytes.hash(memory, nameAt, length), type, peerId);
        OperationCounts found = slots.getAcquire(at);
        while (found != null && !found.is(type, peerId, memory, nameAt, length)) {
            at = at + 1 & CAPACITY - 1;
            found = slots.getAcquire(at);
        }
        return found;
    }

    /** Returns whether these are the counts of requests like this one, by its name. */
    static boolean isOf(OperationCounts counts, RecordView request, int peerId) {
        return counts.is(
                request.typeCode(),
                peerId,
                request.buffer().memory(),
                Envelope.HEADER_LENGTH + CallReports.NAME_AT,
                nameLength(request));
    }

    /** Returns whether a request names its operation. */
    static boolean isNamed(RecordView request) {
        return nameLength(request) > 0;
    }

    private static int nameLength(RecordView request) {
        int payloadLength = request.payloadLength();
        return payloadLength > CallReports.NAME_AT
                ? CallReports.nameLength(
                        request.typeCode(),
                        Short.toUnsignedInt(
                                request.buffer().memory().getShort(Envelope.HEADER_LENGTH, ByteOrder.LITTLE_ENDIAN)),
                        payloadLength)
                : 0;
    }

    private OperationCounts add(int type, int peerId, String peer, byte[] name) {
        if (full) {
            return other;
        }
        synchronized (entries) {
            int at = slot(NameBytes.hash(name, 0, name.length), type, peerId);
            OperationCounts found = slots.get(at);
            while (found != null && !found.is(type, peerId, name, 0, name.length)) {
                at = at + 1 & CAPACITY - 1;
                found = slots.get(at);
            }
            if (found != null) {
                return found;
            }
            if (entries.size() == MAX) {
                full = true;
                return other;
            }
            OperationCounts added = new OperationCounts(type, peerId, peer, name);
            entries.add(added);
            slots.setRelease(at, added);
            return added;
        }
    }

    private static int slot(long hash, int type, int peerId) {
        long mixed = (hash ^ (long) type << Integer.SIZE ^ peerId) * MIX;
        return (int) (mixed >>> Integer.SIZE) & CAPACITY - 1;
    }

    // ---- reading

    /** Returns a number that grows with each change. */
    long changes() {
        long sum = other.changes();
        for (OperationCounts each : entries()) {
            sum += each.changes();
        }
        return sum;
    }

    private List<OperationCounts> entries() {
        synchronized (entries) {
            return List.copyOf(entries);
        }
    }

    /** Returns the present figures of each entry that counts a request. */
    public List<OperationMetrics> read() {
        List<OperationMetrics> all = new ArrayList<>();
        for (OperationCounts each : entries()) {
            addUsed(each.read(), all);
        }
        addUsed(other.read(), all);
        return all;
    }

    private static void addUsed(OperationMetrics each, List<OperationMetrics> all) {
        if (each.count() + each.inFlight() + each.parked() > 0) {
            all.add(each);
        }
    }
}
