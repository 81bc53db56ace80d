package io.waybill.journal.read;

import io.waybill.host.SafeFiles;
import io.waybill.journal.Damage;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.QueueFile;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.Roll;
import io.waybill.journal.RollFile;
import io.waybill.journal.format.FileWindow;
import io.waybill.journal.format.Frame;
import io.waybill.journal.format.RollFiles;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/**
 * Reads a queue's files by positional reads: nothing is mapped, locked or written, and no content of the files can
 * block or crash the reader. For uses off the path of a call: the index, the journal commands, the search for damage.
 *
 * <p>After an invalid frame, the reader searches for the next complete record, and reports the bytes in between as
 * {@link Step#DAMAGED}. A record that it reports as {@link Step#RECORD} was checked in private memory.
 *
 * <p><b>Threads.</b> One at a time. <b>Memory.</b> A window of 256 KiB, and one record.
 */
public final class QueueReader implements Closeable {

    /** Result of a step. */
    public enum Step {
        /** Record, in {@link #record()}. */
        RECORD,
        /** Bytes that are no record, skipped; see {@link #damage()}. */
        DAMAGED,
        /** No more records yet. */
        END
    }

    private enum Depth {
        HEADER,
        WHOLE
    }

    private static final String HOLE = "no document begins here, and a record lies behind: a tailer stops here";
    private static final int READ_GROWTH = 4;

    private final Path directory;
    private final SafeFiles safeFiles;
    private final RollFiles files;
    private final FileWindow window = new FileWindow();
    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView view = new RecordView(buffer);
    private final RecordProbe probe;
    private RollFile current; // the window is closed when it has no more to read
    private long filePosition;
    private final SequenceCount count = new SequenceCount();
    private long deadEndAt;
    private int readAhead = FileWindow.SMALL;
    private int maxReadAhead = FileWindow.CAPACITY;
    private RecordPosition position;
    private String fileName = "";
    private long recordAt;
    private int recordBytes;
    private long recordIndex;
    private Damage damage;

    private QueueReader(Path directory, RollFiles files, SafeFiles safeFiles, JournalSettings settings) {
        this.directory = directory;
        this.files = files;
        this.safeFiles = safeFiles;
        this.probe = new RecordProbe(window, buffer, view, settings.maxRecordBytes());
    }

    /** Opens a queue at its oldest record. The queue need not exist yet. */
    public static QueueReader open(Path directory, SafeFiles safeFiles, JournalSettings settings) {
        return new QueueReader(directory, new RollFiles(directory, safeFiles), safeFiles, settings);
    }

    /** Opens one file of a queue, and reads no other. */
    public static QueueReader openFile(Path directory, RollFile file, SafeFiles safeFiles, JournalSettings settings) {
        return new QueueReader(directory, RollFiles.of(List.of(file)), safeFiles, settings);
    }

    /** Opens these files of a queue, and reads no others in order. */
    public static QueueReader openFiles(Path queue, List<QueueFile> files, SafeFiles safe, JournalSettings settings) {
        RollFiles only = RollFiles.of(files.stream().map(QueueFile::file).toList());
        return new QueueReader(queue, only, safe, settings);
    }

    /** Opens the present files of the queue, and reads no newer ones in order. */
    public static QueueReader openPresent(Path directory, SafeFiles files, JournalSettings settings)
            throws IOException {
        return new QueueReader(directory, RollFiles.present(directory, files), files, settings);
    }

    /** Sets the size of a read, for one of many readers: 4 KiB at least, 256 KiB at most, which is the default. */
    public QueueReader readAhead(int maxBytes) {
        maxReadAhead = Math.max(FileWindow.SMALL, Math.min(maxBytes, FileWindow.CAPACITY));
        return this;
    }

    /** Releases the memory of the window, for a reader that is at its end; the next step allocates it again. */
    public void rest() {
        window.rest();
    }

    /** Reads the next record, and checks all of it. */
    public Step next() throws IOException {
        return step(Depth.WHOLE);
    }

    /** Reads the header of the next record and checks only its lengths; {@link #record()} shows no more than that. */
    public Step skim() throws IOException {
        return step(Depth.HEADER);
    }

    /**
     * Checks whether an {@link Step#END} is only a hole in the newest file, with complete records after it. Reads the
     * rest of that file.
     *
     * @return {@link Step#DAMAGED} when there was a hole, which is skipped now; {@link Step#END} otherwise
     */
    public Step searchBehindEnd() throws IOException {
        if (!window.isOpen()) {
            return Step.END;
        }
        long found = probe.wholeRecordBehind(filePosition);
        return found == RecordProbe.NOWHERE || !isOpenNow() ? Step.END : skipTo(found, HOLE);
    }

    /**
     * Searches like {@link #searchBehindEnd}, but reads nothing if according to the file's header the last record
     * begins before this end, as in every intact file. The reserved space after the end is large, and its pages count
     * as data once they are in the page cache.
     */
    public Step searchBehindEndIfWritten() throws IOException {
        // in this order: the writer notes the position of a record after the record is there
        boolean isBefore = !window.isOpen() || probe.lastWritten(current.roll()) < filePosition;
        return isBefore || !isOpenNow() ? Step.END : searchBehindEnd();
    }

    /**
     * Reads the rest of the record whose header {@link #skim} returned, and checks all of it.
     *
     * @return false when it is damaged, see {@link #damage()}; the next step is the same then
     */
    public boolean complete() throws IOException {
        String problem = probe.readWhole(recordAt, recordBytes);
        if (!problem.isEmpty()) {
            damaged(recordAt, Frame.behind(recordAt, recordBytes), problem);
        }
        return problem.isEmpty();
    }

    private Step step(Depth depth) throws IOException {
        Step step = null;
        while (step == null) {
            step = window.isOpen() ? stepInFile(depth) : enterNewer();
        }
        return step;
    }

    /** Takes a step in the current file. Returns null to continue at the reader's current position. */
    private Step stepInFile(Depth depth) throws IOException {
        if (!window.covers(filePosition, Frame.LENGTH, readAhead)) {
            return fileEnds();
        }
        if (Frame.isOpen(window.int32(filePosition)) && isOpenNow()) {
            return openFrame(window.int32(filePosition));
        }
        int frame = window.int32(filePosition);
        return Frame.isMeta(frame) ? meta(frame) : data(frame, depth);
    }

    /** Reads the frame again: it may have been written since it was copied. */
    private boolean isOpenNow() throws IOException {
        window.forget();
        return window.covers(filePosition, Frame.LENGTH, FileWindow.SMALL) && Frame.isOpen(window.int32(filePosition));
    }

    private Step data(int frame, Depth depth) throws IOException {
        int bytes = Frame.bytes(frame);
        if (!probe.headerFits(filePosition, frame, readAhead)) {
            window.forget(); // the header's copy may be older than the frame's
            if (!probe.headerFits(filePosition, frame, readAhead)) {
                return damagedFrame("a frame of " + bytes + " bytes holds no record");
            }
        }
        readAhead = Math.min(readAhead * READ_GROWTH, maxReadAhead);
        recordAt = filePosition;
        recordBytes = bytes;
        if (depth == Depth.HEADER) {
            buffer.reserve(Envelope.HEADER_LENGTH);
            window.copy(filePosition + Frame.LENGTH, buffer.memory(), Envelope.HEADER_LENGTH);
        } else {
            String problem = probe.readWhole(filePosition, bytes);
            if (!problem.isEmpty()) {
                return skipDamaged(bytes, problem);
            }
        }
        recordIndex = current.roll().indexOf(current.cycle(), count.next(view.sequence()));
        position = null;
        filePosition = Frame.behind(recordAt, bytes);
        return Step.RECORD;
    }

    private Step meta(int frame) throws IOException {
        int bytes = Frame.bytes(frame);
        if (probe.headerFits(filePosition, frame, readAhead)) {
            return skipDamaged(bytes, "a record is marked as the queue's own");
        }
        String problem = probe.metaProblem(filePosition, bytes, current.roll());
        if (!problem.isEmpty()) {
            return damagedFrame(problem);
        }
        filePosition = Frame.behind(filePosition, bytes);
        return null;
    }

    private Step openFrame(int frame) throws IOException {
        readAhead = FileWindow.SMALL;
        if (files.after(current) == null) {
            return Step.END;
        }
        if (!isOpenNow()) {
            return null; // the writer's last record in this file was published just before the newer file
        }
        if (frame != Frame.END) {
            long found = probe.wholeRecordBehind(filePosition);
            if (found != RecordProbe.NOWHERE) {
                return skipTo(found, HOLE);
            }
        }
        window.close();
        return null;
    }

    private Step fileEnds() throws IOException {
        if (window.size() > 0) {
            return deadEnd("the file ends at " + window.size() + " where a document must begin");
        }
        if (files.after(current) == null) {
            return Step.END;
        }
        window.close();
        return null;
    }

    private Step damagedFrame(String text) throws IOException {
        long found = probe.wholeRecordBehind(filePosition);
        return found == RecordProbe.NOWHERE ? deadEnd(text + ", and none lies behind") : skipTo(found, text);
    }

    /** Reports once that no record follows, and waits here for the writer or continues in the next file. */
    private Step deadEnd(String text) throws IOException {
        boolean said = deadEndAt == filePosition;
        deadEndAt = filePosition;
        long to = Math.max(filePosition, window.size());
        boolean waits = files.after(current) == null;
        if (!waits) {
            window.close();
        }
        if (!said) {
            return damaged(filePosition, to, text);
        }
        return waits ? Step.END : null;
    }

    /**
     * Skips a frame by its length, unless the frame was written elsewhere: then continues with the first complete
     * record inside.
     */
    private Step skipDamaged(int bytes, String text) throws IOException {
        long from = filePosition;
        long found = probe.wholeRecordWithin(from, Frame.behind(from, bytes), current.roll());
        if (found != RecordProbe.NOWHERE) {
            return skipTo(found, text);
        }
        filePosition = Frame.behind(from, bytes);
        count.skippedOne();
        return damaged(from, filePosition, text);
    }

    private Step skipTo(long found, String text) {
        long from = filePosition;
        filePosition = found;
        count.skippedSome();
        return damaged(from, found, text);
    }

    private Step damaged(long from, long to, String text) {
        damage = new Damage(current.path(), from, to, text);
        return Step.DAMAGED;
    }

    /** Opens the oldest file that is newer than the current one. Returns null on success. */
    private Step enterNewer() throws IOException {
        RollFile next = files.after(current);
        return next == null ? Step.END : enter(next, 0, 0);
    }

    private Step enter(RollFile file, long at, long sequence) throws IOException {
        current = file;
        readAhead = FileWindow.SMALL; // it grows: most files of callers that left are short
        fileName = file.path().getFileName().toString();
        goOnAt(at, sequence);
        try {
            window.open(file.path(), safeFiles);
            return null;
        } catch (NoSuchFileException e) {
            return damaged(at, at, "the file is gone");
        } catch (IOException e) {
            return damaged(at, at, String.valueOf(e.getMessage()));
        }
    }

    private void goOnAt(long at, long sequence) {
        filePosition = at;
        count.startAt(sequence);
        deadEndAt = RecordProbe.NOWHERE;
    }

    /**
     * Moves to this position, which the next step reads.
     *
     * @return false when there is no such file, or it may not be opened; the reader is then before the next one
     */
    public boolean moveTo(RecordPosition to) throws IOException {
        int cycle = to.cycle();
        long sequence = to.roll().sequenceInFile(to.index());
        if (window.isOpen() && current.cycle() == cycle && current.roll() == to.roll()) {
            readAhead = FileWindow.SMALL;
            goOnAt(to.offset() & ~3L, sequence);
            return true;
        }
        window.close();
        RollFile file = new RollFile(directory.resolve(to.fileName()), to.roll(), cycle);
        return enter(file, to.offset() & ~3L, sequence) == null;
    }

    /**
     * Closes the current file when its owner has removed it: it uses disk space as long as it is open. Its remaining
     * records are skipped; the next step reads the oldest present file.
     *
     * @return whether it was removed
     */
    public boolean leaveIfRemoved() {
        if (!window.isOpen() || Files.exists(current.path(), LinkOption.NOFOLLOW_LINKS)) {
            return false;
        }
        window.close();
        return true;
    }

    /** Returns the record of the last {@link Step#RECORD}. */
    public RecordView record() {
        return view;
    }

    /** Returns the position of the record that was read last. */
    public RecordPosition position() {
        if (position == null) {
            position = new RecordPosition(current.roll(), recordIndex, recordAt);
        }
        return position;
    }

    /** Returns the index of the record that was read last. */
    public long index() {
        return recordIndex;
    }

    /** Returns the name of the file of the record that was read last. */
    public String fileName() {
        return fileName;
    }

    /** Returns the offset in its file of the record that was read last. */
    public long offset() {
        return recordAt;
    }

    /** Returns the roll cycle of the file of the record that was read last. */
    public Roll roll() {
        return current.roll();
    }

    /** Returns the damage of the last {@link Step#DAMAGED}. */
    public Damage damage() {
        return damage;
    }

    @Override
    public void close() {
        window.close();
    }
}
