package io.waybill.journal.check;

import io.waybill.host.SafeFiles;
import io.waybill.journal.Damage;
import io.waybill.journal.RollFile;
import io.waybill.journal.format.ChronicleDocuments;
import io.waybill.journal.format.FileWindow;
import io.waybill.journal.format.Frame;
import io.waybill.journal.read.QueueReader;
import io.waybill.wire.Envelope;
import java.io.Closeable;
import java.io.IOException;
import org.agrona.collections.LongArrayList;

/**
 * Compares everything that Chronicle wrote to a queue's file apart from the records with what the records imply, byte
 * by byte: header, indexes, the end mark, and that nothing follows it. A tailer relies on these when it is moved, and
 * an appender when it is opened, and neither would detect a changed bit.
 *
 * <p>Remains of a crash at the end are reported as a note, because the writer continues from there. A live writer may
 * append meanwhile: what seems to be ahead of the records is checked again. The check ends at a frame that can't be
 * followed; {@link QueueReader} reports such frames.
 *
 * <p><b>Threads.</b> One, once. <b>Memory.</b> A window, and 8 bytes for every record that is indexed.
 */
public final class FileCheck implements Closeable {

    private static final int LOOKS = 5;
    /** End mark that Chronicle writes after the last frame of a file. */
    private static final int MARK = 0x464f45c3;

    private final RollFile file;
    private final StructureFindings findings;
    private final FileWindow window = new FileWindow();
    private final ChronicleDocuments own;
    private final LongArrayList indexed = new LongArrayList();
    private final LongArrayList lists = new LongArrayList();
    private boolean hasRoot;
    private long records;
    private long last = -1;
    private long beforeLast = -1;
    private long position;
    private boolean followed = true;

    public FileCheck(RollFile file, SafeFiles safeFiles, StructureFindings findings) throws IOException {
        this.file = file;
        this.findings = findings;
        this.own = ChronicleDocuments.of(file.roll());
        window.open(file.path(), safeFiles);
    }

    /**
     * Checks the file.
     *
     * @param hasNewer whether a newer file has records or a header, so that this one must have its end mark
     */
    public void check(boolean hasNewer) throws IOException {
        if (!checkHeader()) {
            return;
        }
        position = own.rootPosition();
        follow();
        if (!followed) {
            return;
        }
        checkWritePosition();
        checkLists();
        checkEnd(hasNewer);
    }

    private boolean checkHeader() throws IOException {
        byte[] header = own.header();
        if (!window.covers(0, header.length, FileWindow.CAPACITY)) {
            return false; // reported by a check that searches for a header
        }
        for (int at = 0; at < header.length; at++) {
            if (!own.isVariable(at) && window.int8(at) != header[at]) {
                damaged(at, at + 1, "a byte of the file's header is not what belongs there");
                return false;
            }
        }
        return true;
    }

    /** Follows the documents as far as they are written. */
    private void follow() throws IOException {
        window.forget();
        while (followed && window.covers(position, Frame.LENGTH, FileWindow.CAPACITY)) {
            int frame = window.int32(position);
            if (Frame.isOpen(frame)) {
                return;
            }
            long at = position;
            position = Frame.behind(at, Frame.bytes(frame));
            if (Frame.isMeta(frame)) {
                addList(at);
            } else {
                addRecord(at, frame);
            }
        }
    }

    private void addList(long at) throws IOException {
        byte[] start = own.listStart(hasRoot ? ChronicleDocuments.INDEX : ChronicleDocuments.ROOT, at);
        if (!window.covers(at, start.length, FileWindow.CAPACITY)) {
            followed = false;
            return;
        }
        for (int i = 0; i < start.length; i++) {
            if (window.int8(at + i) != start[i]) {
                damaged(at + i, at + i + 1, "a byte of the queue's own document is not what belongs there");
                followed = false;
                return;
            }
        }
        if (hasRoot) {
            lists.addLong(at);
        }
        hasRoot = true;
    }

    private void addRecord(long at, int frame) throws IOException {
        long header = at + Frame.LENGTH;
        followed = window.covers(at, Frame.LENGTH + Envelope.HEADER_LENGTH, FileWindow.CAPACITY)
                && Frame.holds(
                        frame,
                        window.int32(header + Envelope.MAGIC_AT),
                        window.int32(header + Envelope.PAYLOAD_LENGTH),
                        window.int32(header + Envelope.SECTION_LENGTH));
        if (!followed) {
            return;
        }
        if (records % own.spacing() == 0) {
            indexed.addLong(at);
        }
        beforeLast = last;
        last = at;
        records++;
    }

    private void checkWritePosition() throws IOException {
        long written = numberAt(own.writePositionAt());
        for (int look = 1; look < LOOKS && written > last && followed; look++) {
            follow(); // the writer continued
            written = numberAt(own.writePositionAt());
        }
        long at = own.writePositionAt();
        if (written > last && written >= position) {
            damaged(
                    position,
                    position,
                    "the header says that the last record begins at " + written
                            + ", and the last one that is there begins at " + last);
        } else if (!isLast(written)) {
            damaged(
                    at,
                    at + Long.BYTES,
                    "the header says that the last record begins at " + written + ", and it begins at " + last);
        } else {
            checkSequence(written, numberAt(at + Long.BYTES));
        }
        checkNumber(own.rootAt(), hasRoot ? own.rootPosition() : 0, "the header's position of the index");
        checkNextIndexed(numberAt(own.nextIndexedAt()));
    }

    /**
     * Returns whether the noted position can be that of the last record: a crash may come between a record and its
     * note.
     */
    private boolean isLast(long written) {
        return written == Math.max(last, 0)
                || written == Math.max(beforeLast, 0)
                || written > beforeLast && lists.containsLong(written)
                || written == own.rootPosition() && records <= 1;
    }

    private void checkSequence(long written, long found) {
        long at = own.writePositionAt() + Long.BYTES;
        boolean fits = records == 0
                || found == own.positionAndSequence(last, records - 1)
                || found == (records == 1 ? 0 : own.positionAndSequence(beforeLast, records - 2));
        if (!fits) {
            damaged(at, at + Long.BYTES, "the header's number of the last record, at " + written + ", can't be right");
        }
    }

    private void checkNextIndexed(long found) {
        long expected = (long) indexed.size() * own.spacing();
        long at = own.nextIndexedAt();
        if (found < 0 || found > expected || found % own.spacing() != 0) {
            damaged(
                    at,
                    at + Long.BYTES,
                    "the header says that record " + found + " is indexed next, and that is " + expected);
        } else if (found < expected) {
            noted(
                    at,
                    at + Long.BYTES,
                    "the header says that record " + found + " is indexed next, and that is " + expected);
        }
    }

    private void checkNumber(long at, long expected, String what) throws IOException {
        long found = numberAt(at);
        if (found != expected) {
            damaged(at, at + Long.BYTES, what + " is " + found + ", expected " + expected);
        }
    }

    private void checkLists() throws IOException {
        if (hasRoot) {
            checkList(ChronicleDocuments.ROOT, own.rootPosition(), lists, 0);
        }
        for (int i = 0; i < lists.size() && followed; i++) {
            checkList(ChronicleDocuments.INDEX, lists.getLong(i), indexed, (long) i * own.entries());
        }
    }

    /**
     * Compares a list with its expected entries, of which it may lack some: then others are found from the previous one
     * on.
     */
    private void checkList(String name, long at, LongArrayList all, long first) throws IOException {
        long numbers = at + own.listStart(name, at).length;
        long missing = 0;
        int used = 0;
        for (int i = 0; i < own.entries(); i++) {
            long entryAt = numbers + (i + 1L) * Long.BYTES;
            long found = numberAt(entryAt);
            for (int look = 1; look < LOOKS && found != 0 && first + i >= all.size() && followed; look++) {
                follow(); // the writer continued
            }
            long expected = first + i < all.size() ? all.getLong((int) (first + i)) : 0;
            if (found == expected) {
                used = found == 0 ? used : i + 1;
            } else if (found == 0) {
                missing++;
            } else {
                damaged(
                        entryAt,
                        entryAt + Long.BYTES,
                        "an entry of the queue's own " + name + " is " + found + ", expected " + expected);
                used = i + 1;
            }
        }
        if (missing > 0) {
            noted(numbers, numbers, missing + " entries of the queue's own " + name + " are missing");
        }
        checkUsed(name, numbers, used, missing);
    }

    private void checkUsed(String name, long at, int used, long missing) throws IOException {
        long found = numberAt(at);
        if (found != used && missing == 0) {
            // the writer notes an entry first, and then that there is one more
            if (found == used - 1) {
                noted(
                        at,
                        at + Long.BYTES,
                        "the queue's own " + name + " says that it has " + found + " entries, and it has one more");
            } else {
                damaged(
                        at,
                        at + Long.BYTES,
                        "the queue's own " + name + " says that it has " + found + " entries, and it has " + used);
            }
        } else if (found != used) {
            noted(at, at + Long.BYTES, "the queue's own " + name + " says that it has " + found + " entries");
        }
    }

    private void checkEnd(boolean hasNewer) throws IOException {
        window.forget();
        if (!window.covers(position, Frame.LENGTH, FileWindow.CAPACITY)) {
            if (position > window.size()) {
                damaged(window.size(), window.size(), "the file ends before " + position);
            }
            return;
        }
        int frame = window.int32(position);
        if (frame == Frame.END) {
            checkMark();
        } else if (hasNewer) {
            damaged(position, position + Frame.LENGTH, "there is no mark at the file's end, and newer ones follow");
        }
        if (frame != 0 && frame != Frame.END && Frame.isOpen(frame)) {
            noted(position, position + Frame.LENGTH, "a record was begun here and not finished");
        } else if (Frame.isOpen(frame)) {
            checkNothingBehind(frame);
        }
    }

    private void checkMark() throws IOException {
        long at = position + Frame.LENGTH;
        int found = window.covers(at, Integer.BYTES, FileWindow.CAPACITY) ? window.int32(at) : 0;
        if (found == 0) { // never read: the frame ends the file
            noted(at, at + Integer.BYTES, "the mark at the file's end was not finished");
        } else if (found != MARK) {
            damaged(at, at + Integer.BYTES, "the mark at the file's end is not what belongs there");
        }
    }

    /**
     * Checks that nothing follows the last frame. The writer overcomes any bytes there, and zeros those that it needs
     * to be zero.
     */
    private void checkNothingBehind(int frame) throws IOException {
        long from = position + Frame.LENGTH + (frame == Frame.END ? Integer.BYTES : 0);
        for (int look = 0; look < LOOKS; look++) {
            long size = window.size();
            long found = window.firstNonZero(from, size);
            if (found >= size) {
                return;
            }
            long before = position;
            follow();
            if (position == before
                    && window.covers(position, Frame.LENGTH, FileWindow.SMALL)
                    && window.int32(position) == frame) {
                noted(
                        found,
                        found + 1,
                        "an append that was not finished left bytes behind the last record, which ends at " + position);
                return;
            }
            from = position + Frame.LENGTH;
        }
    }

    private long numberAt(long at) throws IOException {
        if (!window.covers(at, Long.BYTES, FileWindow.CAPACITY)) {
            followed = false;
            return 0;
        }
        return window.int64(at);
    }

    private void damaged(long from, long to, String text) {
        findings.damaged(new Damage(file.path(), from, to, text));
    }

    private void noted(long from, long to, String text) {
        findings.noted(new Damage(file.path(), from, to, text));
    }

    @Override
    public void close() {
        window.close();
    }
}
