package io.waybill.journal.format;

import io.waybill.journal.Roll;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import net.openhft.chronicle.queue.RollCycle;

/**
 * Documents that Chronicle writes into a queue's file for itself, byte by byte, so that a changed bit in them is
 * detected.
 *
 * <pre>
 * header            at 0: writePosition (position, and position with sequence), counts of the index, position of its
 *                   root, dataFormat
 * index of indexes  behind it: a list of the length that the cycle defines, positions of the indexes that follow among
 *                   the records
 * index             a list of the same length, positions of every n-th record, with the cycle's spacing n
 * </pre>
 *
 * A list is its capacity, the count of used entries, and the numbers, 8 bytes each, at a multiple of 8. Immutable.
 */
public final class ChronicleDocuments {

    /** Name of the index of indexes, which follows the header. */
    public static final String ROOT = "index2index";

    public static final String INDEX = "index";

    private static final Map<Roll, ChronicleDocuments> BY_ROLL = new ConcurrentHashMap<>();
    private static final int META = 0x40000000;
    private static final int LIST_HEAD = 2 * Long.BYTES;

    private final int entries;
    private final int spacing;
    private final int sequenceBits;
    private final byte[] header;
    private long writePositionAt;
    private long rootAt;
    private long nextIndexedAt;

    private ChronicleDocuments(Roll roll) {
        RollCycle cycle = roll.cycle();
        entries = cycle.defaultIndexCount();
        spacing = cycle.defaultIndexSpacing();
        sequenceBits = Long.numberOfTrailingZeros(cycle.toIndex(1, 0));
        header = headerBytes();
    }

    /** Returns the documents of the files of a roll cycle. */
    public static ChronicleDocuments of(Roll roll) {
        return BY_ROLL.computeIfAbsent(roll, ChronicleDocuments::new);
    }

    private byte[] headerBytes() {
        WireBytes indexing = new WireBytes(0);
        indexing.field("indexCount")
                .number(entries)
                .field("indexSpacing")
                .number(spacing)
                .field("index2Index");
        WireBytes wire = new WireBytes(Frame.LENGTH);
        wire.event("header").type("SCQStore").put(0x82).int32(0);
        long storeFrom = wire.at();
        wire.field("writePosition").align().put(0x8d).int64(2).int64(2);
        writePositionAt = wire.at();
        wire.int64(0).int64(0).field("indexing").type("SCQSIndexing").put(0x82).int32(0);
        long indexingFrom = wire.at();
        wire.bytes(indexing.toBytes()).align().put(0xa7);
        rootAt = wire.at();
        wire.int64(0).field("lastIndex").align().put(0xa7);
        nextIndexedAt = wire.at();
        wire.int64(0);
        long indexingEnd = wire.at();
        wire.field("dataFormat").number(1);
        byte[] whole = new WireBytes(0)
                .int32(META | (int) (wire.at() - Frame.LENGTH))
                .bytes(wire.toBytes())
                .toBytes();
        putInt32(whole, storeFrom - Integer.BYTES, wire.at() - storeFrom);
        putInt32(whole, indexingFrom - Integer.BYTES, indexingEnd - indexingFrom);
        return whole;
    }

    private static void putInt32(byte[] bytes, long at, long value) {
        for (int i = 0; i < Integer.BYTES; i++) {
            bytes[(int) at + i] = (byte) (value >> 8 * i);
        }
    }

    /** Returns the header with zeros in place of changing numbers. */
    public byte[] header() {
        return header;
    }

    /** Returns whether a byte of the header belongs to a number that changes. */
    public boolean isVariable(long at) {
        return isIn(at, writePositionAt, 2) || isIn(at, rootAt, 1) || isIn(at, nextIndexedAt, 1);
    }

    private static boolean isIn(long at, long from, int numbers) {
        return at >= from && at < from + (long) numbers * Long.BYTES;
    }

    /** Returns the offset of the position of the last record; the position with its sequence follows. */
    public long writePositionAt() {
        return writePositionAt;
    }

    /** Returns the offset of the position of the index of indexes. */
    public long rootAt() {
        return rootAt;
    }

    /** Returns the offset of the sequence of the record that is indexed next. */
    public long nextIndexedAt() {
        return nextIndexedAt;
    }

    public long rootPosition() {
        return Frame.behind(0, header.length - Frame.LENGTH);
    }

    /** Returns the value that follows the position of the last record. */
    public long positionAndSequence(long position, long sequence) {
        return (position << sequenceBits) + sequence;
    }

    /** Returns a list's document up to the count of its used entries. */
    public byte[] listStart(String name, long position) {
        WireBytes wire = new WireBytes(position + Frame.LENGTH);
        wire.event(name).align().put(0x8d);
        long length = wire.at() - position - Frame.LENGTH + LIST_HEAD + (long) entries * Long.BYTES;
        wire.int64(entries);
        return new WireBytes(0).int32(META | (int) length).bytes(wire.toBytes()).toBytes();
    }

    /** Returns the size of a list's document that begins like this, in bytes. */
    public long listBytes(byte[] start) {
        return start.length + Long.BYTES + (long) entries * Long.BYTES;
    }

    /** Returns the length that the frame of a document at this position must have. */
    public int bytesAt(long position) {
        if (position == 0) {
            return header.length - Frame.LENGTH;
        }
        byte[] start = listStart(position == rootPosition() ? ROOT : INDEX, position);
        return (int) listBytes(start) - Frame.LENGTH;
    }

    /**
     * Checks that a document of Chronicle fills the space between two records.
     *
     * @throws IllegalStateException when something else does
     */
    public void requireBetween(long from, long to) {
        if (to != Frame.behind(from, bytesAt(from))) {
            throw new IllegalStateException("the next record belongs at " + from
                    + ", and something lies there that this worker has not written");
        }
    }

    /** Returns the capacity of a list. */
    public int entries() {
        return entries;
    }

    /** Returns the distance between indexed records. */
    public int spacing() {
        return spacing;
    }
}
