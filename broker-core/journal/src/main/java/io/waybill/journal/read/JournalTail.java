package io.waybill.journal.read;

import io.waybill.host.failure.CloseSteps;
import io.waybill.host.failure.HostFailures;
import io.waybill.host.failure.MappedFaults;
import io.waybill.journal.ChronicleFlags;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.journal.format.QueueBuilder;
import io.waybill.journal.format.QueueStructure;
import io.waybill.wire.Envelope;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteOrder;
import java.nio.file.Path;
import net.openhft.chronicle.core.OS;
import net.openhft.chronicle.queue.ChronicleQueue;
import net.openhft.chronicle.queue.ExcerptTailer;
import net.openhft.chronicle.queue.TailerDirection;
import net.openhft.chronicle.wire.DocumentContext;

/**
 * Tail of a queue, of this worker or a peer, that writes nothing to it.
 *
 * <p>A record is copied into private memory before it is checked, and only the checked copy is used: later changes of
 * the peer's mapping have no effect. Records for other receivers are skipped after a read of one field.
 *
 * <p><b>Threads.</b> One at a time.
 */
public final class JournalTail implements Closeable {

    /** Receiver id that accepts records for every receiver. */
    public static final int ANY_RECEIVER = -1;

    /** Max number of records for others that one poll skips. */
    private static final int MAX_SKIPPED = 256;

    /**
     * Max wait for a file's header: Chronicle publishes a file only with its header, and would wait for seconds, and
     * without success, for one that is missing.
     */
    private static final long HEADER_WAIT_MS = 0;

    private final Path directory;
    private final int maxRecordBytes;
    private final ChronicleQueue queue;
    private final ExcerptTailer tailer;
    private final TailProgress progress;
    private final MappedFrames frames = new MappedFrames();
    private final TailPosition position;
    private boolean isForward = true;
    private MessageBuffer checkedBuffer;
    private RecordView view;
    private String damage = "";
    private boolean faulted;
    private boolean wary; // set by a damaged record
    private long index;
    private long resumeAt;
    private long endPosition;
    private long limit = Long.MAX_VALUE;

    private JournalTail(Path directory, JournalSettings settings) {
        this.directory = directory;
        this.maxRecordBytes = settings.maxRecordBytes();
        this.queue = QueueBuilder.of(directory, settings)
                .readOnly(true)
                .timeoutMS(HEADER_WAIT_MS)
                .build();
        try {
            Roll roll = Roll.of(queue.rollCycle()); // the queue's own, for any settings
            this.progress = new TailProgress(directory, roll);
            this.tailer = queue.createTailer();
            this.tailer.singleThreadedCheckDisabled(
                    true); // several threads, one at a time under the polling permit: ADR 3
            this.position = new TailPosition(directory, roll, tailer, frames);
        } catch (Throwable e) { // also an IOException, which Chronicle does not declare
            queue.close();
            throw e;
        }
    }

    /**
     * Opens the queue at its start. The caller has checked the directory's entries.
     *
     * @throws IllegalStateException when there is no queue, or its files are damaged in their structure
     */
    public static JournalTail open(Path directory, JournalSettings settings) {
        ChronicleFlags.require();
        if (!TailedQueue.exists(directory)) {
            throw new IllegalStateException("no queue in " + directory);
        }
        TailedQueue.requireReadable(directory);
        return new JournalTail(directory, settings);
    }

    static JournalTail openBackward(Path directory, JournalSettings settings) {
        JournalTail tail = open(directory, settings);
        try {
            tail.tailer.direction(TailerDirection.BACKWARD);
            tail.isForward = false;
            tail.position.moveToLast();
            return tail;
        } catch (Throwable e) { // also an IOException, which Chronicle does not declare
            tail.close();
            throw e;
        }
    }

    /** Returns whether a queue was begun in {@code directory}. */
    public static boolean exists(Path directory) {
        return TailedQueue.exists(directory);
    }

    /**
     * Reads the next record for {@code receiver} into {@code buffer} and checks it. After a fault in the mapped file,
     * which is reported once as {@link Poll#DAMAGED}, there are no more records. On JDK 17 the fault may surface later:
     * see {@link MappedFaults}.
     *
     * @param receiver worker id, or {@link #ANY_RECEIVER}
     * @throws InternalError for a fault in another file, which surfaced here, or a {@link RuntimeException} that
     * Chronicle made of it; the next poll reads the record that this one would have read
     */
    public Poll poll(MessageBuffer buffer, int receiver) {
        if (faulted) {
            return Poll.NONE;
        }
        Poll found = Poll.NONE;
        try {
            found = read(buffer, receiver);
            if (found != Poll.NONE) {
                resumeAt = index + 1;
            }
            wary |= found == Poll.DAMAGED;
            if (wary) { // it may have led Chronicle behind the file: that fault must not surface under Chronicle's
                // locks
                MappedFaults.surface();
            }
            return found;
        } catch (InternalError | RuntimeException e) {
            if (e instanceof RuntimeException && !MappedFaults.is(e)) {
                throw e;
            }
            if (found == Poll.RECORD && MappedFaults.is(e)) { // a checked record: the fault is in another file
                resumeAt = index + 1;
                return found;
            }
            String cut = cut();
            if (cut.isEmpty() && MappedFaults.is(e) && position.tryMoveBackTo(resumeAt)) {
                throw e;
            }
            faulted = true; // the mapping is not touched again
            damage = cut.isEmpty() ? "a fault in the mapped file" : cut;
            return Poll.DAMAGED;
        }
    }

    /**
     * Returns whether the file that was read last has been cut since. Touches no mapping, and takes a fraction of the
     * time of {@link #cut}. Any thread.
     */
    public boolean isCutNow() {
        try {
            File current = tailer.currentFile();
            return current != null
                    && !QueueStructure.cutProblem(current.toPath()).isEmpty();
        } catch (IOException e) {
            return !HostFailures.is(e);
        }
    }

    /**
     * Returns why a file that was read before can't be read any more; empty when it can, and when this process can't
     * determine that. Touches no mapping.
     */
    public String cut() {
        try {
            File current = tailer.currentFile();
            String problem = current == null ? "" : QueueStructure.cutProblem(current.toPath());
            return problem.isEmpty() ? QueueStructure.problem(directory) : problem;
        } catch (IOException | UncheckedIOException e) {
            return HostFailures.is(e) ? "" : String.valueOf(e.getMessage());
        }
    }

    /**
     * Returns whether the search for the next record stays in the mapped part of a file: that is one read of memory.
     */
    public boolean isInPlace() {
        return !frames.isLeft();
    }

    /**
     * Returns whether a poll may find something: false when the position of the next record is
     * {@linkplain #isInPlace mapped}, and nothing is there.
     */
    public boolean mayHaveNext() {
        return !faulted && frames.mayHaveNext();
    }

    private Poll read(MessageBuffer buffer, int receiver) {
        for (int skipped = 0; skipped < MAX_SKIPPED; skipped++) {
            int length = frames.next();
            Poll found = length == MappedFrames.OUTSIDE
                    ? readThroughTailer(buffer, receiver)
                    : length == MappedFrames.NOTHING ? Poll.NONE : take(length, buffer, receiver);
            if (found != Poll.SKIPPED) {
                return found == Poll.NONE && skipped > 0 ? Poll.SKIPPED : found;
            }
        }
        return Poll.SKIPPED;
    }

    /**
     * Makes Chronicle find the next record, which may be in another part of the file, or in another file. The frames
     * continue from there.
     */
    private Poll readThroughTailer(MessageBuffer buffer, int receiver) {
        if (!position.tryLeaveFrames()) {
            faulted = true;
            damage = "the record that was read last is not there any more";
            return Poll.DAMAGED;
        }
        DocumentContext document = tailer.readingDocument();
        try {
            if (!document.isPresent()) {
                return Poll.NONE;
            }
            return take(frames.enter(document.wire().bytes(), document.index()), buffer, receiver);
        } finally {
            if (isForward || faulted) { // the frames use the tailer's mapping; behind a fault it must not be touched
                document.rollbackOnClose();
            }
            document.close();
            if (!isForward) {
                frames.leave();
            }
        }
    }

    /** Reads the record that the frames have found; {@link Poll#SKIPPED} for a record for others. */
    private Poll take(int length, MessageBuffer buffer, int receiver) {
        if (frames.index() >= limit) { // it is read again when the limit has moved
            return Poll.NONE;
        }
        long before = index;
        index = frames.index();
        endPosition = frames.recordEnd();
        if (!progress.isInside(index, endPosition, tailer)) { // the next record would be behind the file's end
            faulted = true;
            damage = "a record ends at " + endPosition + ", and its file at " + progress.fileBytes();
            return Poll.DAMAGED;
        }
        long address = frames.address();
        if (progress.isOtherFile(index) && length >= Envelope.HEADER_LENGTH) {
            progress.enter(index, before, OS.memory().readLong(address + Envelope.SEQUENCE));
        }
        frames.pass();
        if (length < Envelope.HEADER_LENGTH || length > maxRecordBytes) {
            damage = "a record has from " + Envelope.HEADER_LENGTH + " to " + maxRecordBytes + " bytes, this one "
                    + length;
            return Poll.DAMAGED;
        }
        if (receiver != ANY_RECEIVER
                && receiver != Short.toUnsignedInt(OS.memory().readShort(address + Envelope.TO))) {
            return Poll.SKIPPED;
        }
        buffer.reserve(length);
        // remains of an earlier record must not pass for this one if a fault cuts the copy short
        buffer.memory().putInt(Envelope.MAGIC_AT, 0, ByteOrder.LITTLE_ENDIAN);
        OS.memory().copyMemory(address, buffer.address(), length);
        return check(buffer);
    }

    /** Returns the number of records that the queue's owner removed before this tail reached them. */
    public long lost() {
        return progress.lost();
    }

    private void moved() {
        progress.moved();
        resumeAt = position.next();
    }

    private Poll check(MessageBuffer buffer) {
        if (buffer != checkedBuffer) {
            checkedBuffer = buffer;
            view = new RecordView(buffer);
        }
        try {
            view.check();
            return Poll.RECORD;
        } catch (MalformedRecordException e) {
            damage = e.getMessage();
            return Poll.DAMAGED;
        }
    }

    /** Hides the records from this index on. */
    public void readBefore(long firstHidden) {
        limit = firstHidden;
    }

    /** Returns whether a fault ended the tail: there are no more records, and it has to be opened again. */
    public boolean isFaulted() {
        return faulted;
    }

    /** Returns why the last poll returned {@link Poll#DAMAGED}. */
    public String damage() {
        return damage + ", at index " + Long.toHexString(index) + " of " + directory;
    }

    /** Returns the position of the record that was read last. */
    public long lastIndex() {
        return index;
    }

    /** Returns the position at which the next poll begins. */
    public long nextIndex() {
        return position.next();
    }

    /**
     * Moves to {@code nextIndex}, at which the next poll begins, whether a record is there already or not yet; where
     * none will ever be, because a newer file was begun, to the first record of that file.
     */
    public boolean moveTo(long nextIndex) {
        boolean there = position.moveTo(nextIndex);
        moved();
        return there;
    }

    /**
     * Moves to a position; if its file was removed meanwhile, the next poll counts the removed records.
     *
     * @param sequenceOfFirst sequence of the first record of that file; -1 when unknown
     */
    public boolean moveTo(long nextIndex, long sequenceOfFirst) {
        boolean there = moveTo(nextIndex);
        if (there && sequenceOfFirst >= 0) {
            progress.movedTo(nextIndex, sequenceOfFirst);
            index = nextIndex - 1;
        }
        return there;
    }

    /** Returns the sequence of the first record in the file in which the next poll begins; -1 when unknown. */
    public long sequenceOfFirst() {
        return progress.sequenceOfFirst(position.next());
    }

    /**
     * Moves after the last present record. Chronicle's own method tries every number that a file could have had since
     * the last record, each in a deeper call.
     */
    public void moveToEnd() {
        position.moveToEnd();
        moved();
    }

    /**
     * Moves after this record, which is there.
     *
     * @throws IllegalStateException when it is not there; the tail keeps its position then
     */
    public void moveBehind(long recordIndex) {
        position.moveBehind(recordIndex);
        moved();
    }

    /** Moves to the oldest record, at which the next poll begins. */
    public void moveToStart() {
        position.moveToStart();
        moved();
    }

    int cycle() {
        return queue.rollCycle().toCycle(index);
    }

    long endPosition() {
        return endPosition;
    }

    public Path directory() {
        return directory;
    }

    @Override
    public void close() {
        frames.leave(); // a later poll must not read pages that are not mapped any more
        MappedFaults.drop(); // Chronicle closes under a lock of the whole process
        new CloseSteps()
                .attempt(() -> closeDespiteFault(tailer::close))
                .attempt(() -> closeDespiteFault(queue::close))
                .finishUnchecked();
    }

    /**
     * Closes a resource although JDK 17 may report a fault in the file as late as here: the remaining resources must be
     * closed, too.
     */
    private void closeDespiteFault(Runnable close) {
        try {
            close.run();
        } catch (InternalError e) {
            faulted = true;
        }
    }
}
