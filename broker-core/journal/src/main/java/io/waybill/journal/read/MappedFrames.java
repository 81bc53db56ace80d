package io.waybill.journal.read;

import io.waybill.journal.format.Frame;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.core.OS;

/**
 * Moves from frame to frame in the part of a queue's file that a Chronicle tailer has mapped, from the tailer's present
 * record on. The mapping is the tailer's: {@linkplain #leave leave} it before the tailer is moved.
 *
 * <p>Nothing behind the mapping is read, for any content of a frame.
 *
 * <p><b>Threads.</b> Belongs to the tail.
 */
final class MappedFrames {

    /** Result when there is no further record yet, or its writer has not finished it. */
    static final int NOTHING = -1;
    /** Result when the next document is not within reach: the tailer has to find it. */
    static final int OUTSIDE = -2;

    private long base; // address of the file's start, as far as it is mapped; 0 when left
    private long end; // end of the mapping
    private long position; // position of the next record's frame, or of a document before it
    private long index; // index of that record
    private int length;
    private InternalError fault; // thrown by a check for a next record; null for none

    /** Begins at a record that the tailer has just found. Returns its length in bytes. */
    int enter(Bytes<?> record, long recordIndex) {
        long start = record.readPosition();
        base = record.addressForRead(start) - start;
        end = record.bytesStore().capacity();
        position = start - Frame.LENGTH;
        index = recordIndex;
        length = Math.toIntExact(record.readRemaining());
        return length;
    }

    /** Leaves the mapping, since the tailer is moved. */
    void leave() {
        base = 0;
    }

    boolean isLeft() {
        return base == 0;
    }

    /**
     * Skips the queue's own documents, up to the next record.
     *
     * @return the record's length in bytes, {@link #NOTHING} or {@link #OUTSIDE}
     */
    int next() {
        if (base == 0) {
            return OUTSIDE;
        }
        if (fault != null) {
            InternalError met = fault;
            fault = null;
            throw met;
        }
        while (position + Frame.LENGTH <= end) {
            int frame = OS.memory().readVolatileInt(base + position);
            if (frame == Frame.END) {
                return OUTSIDE;
            }
            if (Frame.isOpen(frame)) {
                return NOTHING;
            }
            length = Frame.bytes(frame);
            if (position + Frame.LENGTH + length > end) {
                return OUTSIDE;
            }
            if (!Frame.isMeta(frame)) {
                return length;
            }
            position = Frame.behind(position, length);
        }
        return OUTSIDE;
    }

    /**
     * Returns false when the position of the next record is within reach, and nothing is there. A fault that this
     * causes is thrown by {@link #next}.
     */
    boolean mayHaveNext() {
        try {
            return fault != null || next() != NOTHING;
        } catch (InternalError e) {
            fault = e;
            return true;
        }
    }

    /** Moves after the record that was found. */
    void pass() {
        position = Frame.behind(position, length);
        index++;
    }

    /** Returns the index that the next record has, or will have. */
    long index() {
        return index;
    }

    /** Returns the address of the record that was found. */
    long address() {
        return base + position + Frame.LENGTH;
    }

    /** Returns the end of the record that was found, in its file. */
    long recordEnd() {
        return position + Frame.LENGTH + length;
    }
}
