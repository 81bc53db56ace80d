package io.waybill.journal.read;

import io.waybill.journal.Roll;
import io.waybill.journal.format.ChronicleDocuments;
import io.waybill.journal.format.FileWindow;
import io.waybill.journal.format.Frame;
import io.waybill.wire.Envelope;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.nio.ByteOrder;

/**
 * Decides whether bytes in a queue's file are a record, for any content: by the frame, the header in it, and the whole
 * of it.
 *
 * <p><b>Threads.</b> Belongs to the reader whose window and buffer it uses.
 */
final class RecordProbe {

    static final long NOWHERE = -1;

    private final FileWindow window;
    private final MessageBuffer buffer;
    private final RecordView view;
    private final int maxRecordBytes;

    RecordProbe(FileWindow window, MessageBuffer buffer, RecordView view, int maxRecordBytes) {
        this.window = window;
        this.buffer = buffer;
        this.view = view;
        this.maxRecordBytes = maxRecordBytes;
    }

    /** Returns the position of the last record, as the writer noted; {@link Long#MAX_VALUE} without a note. */
    long lastWritten(Roll roll) throws IOException {
        buffer.reserve(Long.BYTES);
        long at = ChronicleDocuments.of(roll).writePositionAt();
        long written = window.read(at, buffer.memory(), Long.BYTES)
                ? buffer.memory().getLong(0, ByteOrder.LITTLE_ENDIAN)
                : Long.MAX_VALUE;
        return written < 0 ? Long.MAX_VALUE : written;
    }

    /** Returns whether there is a header that matches the frame: only then is the frame's length used. */
    boolean headerFits(long at, int frame, int readAhead) throws IOException {
        int bytes = Frame.bytes(frame);
        if (bytes < Envelope.HEADER_LENGTH
                || bytes > maxRecordBytes
                || !window.covers(at, Frame.LENGTH + Envelope.HEADER_LENGTH, readAhead)) {
            return false;
        }
        long header = at + Frame.LENGTH;
        return Frame.holds(
                frame,
                window.int32(header + Envelope.MAGIC_AT),
                window.int32(header + Envelope.PAYLOAD_LENGTH),
                window.int32(header + Envelope.SECTION_LENGTH));
    }

    /** Copies and checks a record. Returns its problem; empty text when there is none. */
    String readWhole(long at, int bytes) throws IOException {
        long from = at + Frame.LENGTH;
        boolean isCovered = window.available(from) >= bytes;
        if (!isCovered && from + bytes > window.size()) { // no memory is allocated for a false length
            return "the file ends inside a record of " + bytes + " bytes";
        }
        buffer.reserve(bytes);
        if (isCovered) {
            window.copy(from, buffer.memory(), bytes);
            if (check().isEmpty()) {
                return "";
            }
        }
        // not in the window, or the copy there is older than the frame that completes it
        return window.read(from, buffer.memory(), bytes)
                ? check()
                : "the file ends inside a record of " + bytes + " bytes";
    }

    private String check() {
        try {
            view.check();
            return "";
        } catch (MalformedRecordException e) {
            return e.getMessage();
        }
    }

    /**
     * Returns the frame of the first whole record inside a damaged one whose length is meaningless, because another
     * sector brought it here; {@link #NOWHERE} when there is none. Bytes of a payload that resemble a record are none.
     */
    long wholeRecordWithin(long at, long behind, Roll roll) throws IOException {
        long found = wholeRecordBehind(at);
        if (found == NOWHERE || found >= behind) {
            return NOWHERE;
        }
        return !endsThere(at, behind, roll) || isOfQueue(found, behind) ? found : NOWHERE;
    }

    /**
     * Returns whether a damaged record may end there: a document begins, or the file ends, or the record is the last
     * one that was written.
     */
    private boolean endsThere(long at, long behind, Roll roll) throws IOException {
        if (!window.covers(behind, Frame.LENGTH, FileWindow.SMALL)) {
            return behind == window.size();
        }
        int frame = window.int32(behind);
        if (frame == 0) { // zeros may also be inside a record
            return lastWritten(roll) == at;
        }
        if (Frame.isMeta(frame) && frame != Frame.END) {
            return Frame.bytes(frame) == ChronicleDocuments.of(roll).bytesAt(behind);
        }
        return frame == Frame.END || headerFits(behind, frame, FileWindow.SMALL);
    }

    /**
     * Returns whether the sequence of the last whole record before a position is followed by the sequence of the record
     * at it. The view has the first one.
     */
    private boolean isOfQueue(long first, long behind) throws IOException {
        long sequence = 0;
        long at = first;
        while (at != NOWHERE && at < behind) {
            sequence = view.sequence();
            at = wholeRecordBehind(Frame.behind(at, buffer.length()) - Frame.LENGTH);
        }
        return at == behind && view.sequence() == sequence + 1;
    }

    /** Returns the frame of the first whole record behind a position; {@link #NOWHERE} when there is none. */
    long wholeRecordBehind(long from) throws IOException {
        int needed = Frame.LENGTH + Envelope.HEADER_LENGTH;
        int ahead = FileWindow.SMALL; // most often nothing but a hole lies behind
        for (long at = from + Frame.LENGTH; window.covers(at, needed, ahead); at += Frame.LENGTH) {
            ahead = FileWindow.CAPACITY;
            if (window.int32(at)
                    == 0) { // no frame, and most often nothing but zeros up to the end of what was reserved
                long size = window.size();
                long next = window.firstNonZero(at, size);
                if (next == size) {
                    return NOWHERE;
                }
                at += (next - at) / Frame.LENGTH * Frame.LENGTH - Frame.LENGTH;
                continue;
            }
            if ((window.int32(at + Frame.LENGTH + Envelope.MAGIC_AT) & 0xffff) == Envelope.MAGIC) {
                int frame = window.int32(at);
                if (!Frame.isMeta(frame)
                        && headerFits(at, frame, FileWindow.CAPACITY)
                        && readWhole(at, Frame.bytes(frame)).isEmpty()) {
                    return at;
                }
            }
        }
        return NOWHERE;
    }

    /** Returns the problem of a frame that is marked as a document of Chronicle; empty when there is none. */
    String metaProblem(long at, int bytes, Roll roll) throws IOException {
        int expected = ChronicleDocuments.of(roll).bytesAt(at);
        if (bytes != expected) {
            return "a document of the queue's own has " + expected + " bytes here, and this one says " + bytes;
        }
        return Frame.behind(at, bytes) > window.size()
                ? "a frame of " + bytes + " bytes reaches behind the file's end"
                : "";
    }
}
