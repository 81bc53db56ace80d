package io.waybill.journal.append;

import io.waybill.host.failure.CloseSteps;
import io.waybill.host.failure.HostFailures;
import io.waybill.host.failure.MappedFaults;
import io.waybill.journal.DiskSpace;
import io.waybill.journal.Durability;
import io.waybill.journal.JournalFailedException;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.format.ChronicleDocuments;
import io.waybill.journal.format.Frame;
import io.waybill.journal.format.QueueBuilder;
import io.waybill.journal.format.RollTime;
import io.waybill.journal.read.LastRecord;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.file.Path;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.PointerBytesStore;
import net.openhft.chronicle.queue.ChronicleQueue;
import net.openhft.chronicle.queue.ExcerptAppender;
import net.openhft.chronicle.wire.DocumentContext;

/**
 * Appender of a queue with this worker as its only writer.
 *
 * <p>{@link JournalOpener} opens it. A record is in the page cache when {@link #append} returns, complete and
 * checksummed: every process can read it, even if this one is killed. An append that throws has published nothing.
 *
 * <p><b>Threads.</b> One at a time for {@link #append}, by the caller's own lock; {@link #topUp} may run concurrently.
 */
public final class Journal implements Closeable {

    private static final long NS_PER_MS = 1_000_000;
    private static final long ROLL_RETRY_NS = 100_000_000;
    /** Max wait for a lock that only this process takes: a longer wait means damage. */
    private static final long LOCK_WAIT_MS = 200;

    private final Path directory;
    private final JournalSettings settings;
    private final RollTime time;
    private final ChronicleQueue queue;
    private final ExcerptAppender appender;
    private final Reservation reservation;
    private final LastRecord last;
    private final PointerBytesStore source = new PointerBytesStore();
    private final EnteredFiles entered;
    private long rollAtNs = Long.MIN_VALUE; // wall clock
    private long rollAtPosition = Long.MAX_VALUE;
    // Written by the appending thread, read by the helper that touches pages ahead.
    private volatile Touchable touchable = Touchable.NOTHING;
    private Path file;
    private long position;
    private int lastLength; // 0 when this object has appended nothing to the file yet
    private long nextSequence;
    private long lastId;
    private boolean appended; // since it was opened
    private Throwable failure;
    private volatile String damage = ""; // read by the thread that stops the worker

    Journal(Path directory, JournalSettings settings, DiskSpace disk, LastRecord last) {
        this.directory = directory;
        this.settings = settings;
        this.reservation =
                new Reservation(disk, settings.reserveBytes(), settings.roll().indexBytes());
        this.entered = new EnteredFiles(settings.durability() != Durability.PROCESS);
        this.last = last;
        this.nextSequence = last.sequence() + 1;
        this.lastId = last.id();
        this.time = new RollTime(
                last.cycle() == Integer.MIN_VALUE ? 0 : settings.roll().startMs(last.cycle()));
        this.queue = QueueBuilder.build(
                QueueBuilder.of(directory, settings).timeProvider(time).timeoutMS(LOCK_WAIT_MS));
        this.appender = QueueBuilder.openOrClose(queue, ChronicleQueue::createAppender);
        // several threads, one at a time under the worker's lock: ADR 3
        this.appender.singleThreadedCheckDisabled(true);
    }

    /**
     * Appends a record: assigns its sequence, seals it and publishes it. If the journal fails after the publication,
     * the next append throws.
     *
     * @param wallNs present time, which with the size of the file decides when a new file begins
     * @return the sequence of the record
     * @throws JournalFullException when there is no room; nothing was written
     * @throws JournalFailedException when the journal failed, now or before
     * @throws IllegalArgumentException when the record is larger than the settings allow
     */
    public long append(MessageBuffer record, long wallNs) throws JournalFullException {
        int length = record.length();
        if (length > settings.maxRecordBytes()) {
            throw new IllegalArgumentException(
                    "a record has at most " + settings.maxRecordBytes() + " bytes, this one " + length);
        }
        if (failure != null) {
            throw failed();
        }
        surfaceFaults();
        if (wallNs >= rollAtNs || position >= rollAtPosition) {
            roll(wallNs);
        }
        reservation.fits(position, length);
        long sequence = nextSequence;
        record.seal(sequence);
        source.set(record.address(), length);
        long before = position;
        try {
            write(length);
        } catch (Throwable e) { // handled there by its kind; it may have been thrown after the publication
            requirePublished(e, before, length);
        }
        appended = true;
        nextSequence = sequence + 1;
        lastId = record.memory().getLong(Envelope.ID, ByteOrder.LITTLE_ENDIAN);
        reservation.written(position);
        return sequence;
    }

    /**
     * Throws unless the record is published: an exception that Chronicle throws when it ends the document may come
     * after the publication.
     */
    private void requirePublished(Throwable e, long before, int length) {
        if (e instanceof Exception failed) { // failed system call, also undeclared, or another process's writes
            failDamaged(failed);
        } else if (e instanceof InternalError || position != before) {
            fail(e);
        } else {
            throw (Error) e; // such as a stack overflow; the record was rolled back
        }
        if (position == before || !LastRecord.mayBeRead(file, position - length, length, nextSequence)) {
            throw failed();
        }
    }

    /** Surfaces earlier faults of this thread; a fault of the last append in this journal fails the journal. */
    private void surfaceFaults() {
        try {
            MappedFaults.surface();
        } catch (InternalError e) {
            if (lastLength > 0 && !LastRecord.isWhole(file, position - lastLength, lastLength, nextSequence - 1)) {
                fail(e);
                throw failed();
            }
        }
    }

    /**
     * Fails the journal permanently: a system call failed, or another process changed a file. Under the append lock.
     */
    public void failDamaged(Exception e) {
        if (failure == null) {
            damage = HostFailures.is(e)
                    ? file + " can't be written: " + HostFailures.describe(e)
                    : "another process changed its files: " + QueueRepair.foreignChange(directory, file, e);
            fail(new IllegalStateException(damage, e));
        }
    }

    /** Returns the failed system call, or the change of the files by another process; empty for neither. Any thread. */
    public String damage() {
        return damage;
    }

    private void write(int length) {
        DocumentContext document = appender.writingDocument();
        boolean written = false;
        try {
            Bytes<?> bytes = document.wire().bytes();
            long start = bytes.writePosition();
            long end = Frame.behind(position - Frame.LENGTH, 0);
            // unless the record is the first in its file, or follows the remains of a crash
            if (start - Frame.LENGTH != end && lastLength != 0) {
                ChronicleDocuments.of(settings.roll()).requireBetween(end, start - Frame.LENGTH);
            }
            bytes.write(source, 0L, (long) length);
            if (start + length >= touchable.end()) {
                touchable = Touchable.around(file, bytes.addressForWrite(start), start, settings.blockBytes());
            }
            lastLength = length;
            position = start + length; // from here on it may be published
            written = true;
        } finally {
            if (!written) {
                document.rollbackOnClose();
            }
            document.close();
        }
    }

    /** Makes Chronicle write the file's header, so that readers find a queue before its first record. */
    void createFile() {
        try (DocumentContext document = appender.writingDocument()) {
            document.rollbackOnClose();
        }
    }

    /** Continues the last file of an earlier incarnation, unless it has reached its max size or its time has ended. */
    void enterFirst(long wallNs, int firstCycle) throws JournalFullException {
        boolean goesOn = last.cycle() != Integer.MIN_VALUE
                && last.cycle() >= firstCycle
                && last.endPosition() < settings.fileBytes()
                && wallNs < settings.roll().endMs(last.cycle()) * NS_PER_MS;
        enterCycle(goesOn ? last.cycle() : Math.max(firstCycle, nextCycle(last.cycle(), wallNs)), wallNs);
    }

    private int nextCycle(int after, long wallNs) {
        return settings.roll().next(queue.firstIndex(), after, wallNs / NS_PER_MS);
    }

    /**
     * Begins a new file. Without space for one, continues in the present file, where space is reserved, and retries
     * later.
     */
    private void roll(long wallNs) {
        int next = nextCycle(entered.cycle(), wallNs);
        if (reservation.tryEnter(pathOf(next))) {
            entered(next, 0, wallNs);
        } else {
            rollAtNs = wallNs + ROLL_RETRY_NS;
            rollAtPosition = Long.MAX_VALUE;
        }
    }

    /** Reserves space in a cycle's file before Chronicle creates or continues it. */
    private void enterCycle(int newCycle, long wallNs) throws JournalFullException {
        long at = newCycle == last.cycle() ? last.endPosition() : 0;
        reservation.enter(pathOf(newCycle), at);
        entered(newCycle, at, wallNs);
    }

    private void entered(int newCycle, long at, long wallNs) {
        file = pathOf(newCycle);
        entered.add(file, newCycle, position, lastId);
        time.advanceTo(settings.roll().startMs(newCycle));
        position = at;
        lastLength = 0;
        rollAtNs = settings.roll().endMs(newCycle, wallNs / NS_PER_MS) * NS_PER_MS;
        rollAtPosition = settings.fileBytes();
        touchable = Touchable.NOTHING;
    }

    private Path pathOf(int ofCycle) {
        return directory.resolve(settings.roll().fileName(ofCycle));
    }

    private JournalFailedException failed() {
        return new JournalFailedException(
                "the journal " + directory + " takes no more records: " + HostFailures.text(failure), failure);
    }

    /** Reserves disk space ahead of the writer, and releases the unused space of earlier files. For a helper thread. */
    public void topUp() throws JournalFullException {
        reservation.topUp();
    }

    /**
     * Releases the space that is reserved beyond the needs of a writer at rest. Call under the lock of {@link #append}.
     */
    public void shrinkReserve() {
        if (failure == null) {
            reservation.shrink();
            touchable = Touchable.NOTHING; // its pages were released
        }
    }

    /**
     * Ends the journal: accepts no more records, and releases the space that is reserved and not written. Call under
     * the lock of {@link #append}.
     */
    public void end() {
        if (failure == null) {
            reservation.giveBackAll();
            fail(new IllegalStateException("it was closed"));
        }
    }

    /** Fills pages of this block with zeros up to this position, except near the writer. For a background thread. */
    public void fill(Touchable block, long to) throws IOException {
        reservation.fill(block.file(), Math.min(to, block.end()));
    }

    /**
     * Loads pages of this block into memory, as far as disk space is reserved for them. For a background thread.
     *
     * @return the position that was reached
     */
    public long touch(Touchable block, long from, long to, Touchable.Pages pages) throws IOException {
        return reservation.touch(block.file(), from, Math.min(to, block.end()), pages);
    }

    /** Returns the pages that will be written next, for a background thread that touches them. */
    public Touchable touchable() {
        return touchable;
    }

    /** Returns the position up to which the current file is written, as the background thread sees it. */
    public long writtenTo() {
        return reservation.writtenTo();
    }

    /** Returns whether there is room for new requests and the responses in flight. */
    public boolean isComfortable() {
        return reservation.isComfortable();
    }

    /**
     * Returns whether there is room for the responses to requests in flight; below that, there is only room for
     * responses that report a full journal.
     */
    public boolean hasRoomForResponses() {
        return reservation.hasRoomForResponses();
    }

    /** Returns the id of the last record; {@link io.waybill.api.MessageId#NONE} when there is none. */
    public long lastId() {
        return lastId;
    }

    /**
     * Returns the index of the last record that was appended since the journal was opened; there must be one. Call with
     * the lock of {@link #append}.
     */
    public long lastIndex() {
        return appender.lastIndexAppended();
    }

    /**
     * Returns whether a record was appended since the journal was opened, and it was not closed. Call with the lock of
     * {@link #append}.
     */
    public boolean hasAppended() {
        return appended && failure == null;
    }

    /** Returns the index after the last record; 0 when there is none. Under the lock of {@link #append}. */
    public long endIndex() {
        return (appended ? appender.lastIndexAppended() : last.index()) + 1;
    }

    /** Fails the journal permanently, because records can't be synced. Under the same lock. */
    public void fail(Throwable cause) {
        if (failure == null) {
            failure = cause;
        }
    }

    /** Returns the file of the last record. Call with the lock of {@link #append}. */
    public Path file() {
        return file;
    }

    /** Returns the number of the file that is written now. Any thread. */
    public int currentCycle() {
        return entered.cycle();
    }

    /**
     * Returns the file with a message of this incarnation; {@link Integer#MIN_VALUE} for an earlier one. Any thread.
     */
    public int cycleOf(long id) {
        return entered.cycleOf(id);
    }

    /**
     * Returns the extent to which this object has written; null when nothing or after a failure. Call under the append
     * lock.
     */
    public Written written() {
        return hasAppended()
                ? new Written(file, position, position - lastLength, lastLength, endIndex(), nextSequence)
                : null;
    }

    /**
     * Returns the fault in the mapped files that ended the journal; null when none did. Call under the lock of
     * {@link #append}.
     */
    public InternalError fault() {
        return failure instanceof InternalError fault ? fault : null;
    }

    /** Returns the files that were begun or continued. Its methods define which thread may call them. */
    EnteredFiles enteredFiles() {
        return entered;
    }

    /** Notes that files below this number are about to be removed: the watch does not report them. Any thread. */
    public void removing(int below) {
        entered.keepFrom(below);
    }

    /** Notes that files below this number were removed. Call under the lock of {@link #append}. */
    public void removedBelow(int number) {
        if (failure == null) {
            queue.refreshDirectoryListing();
        }
        entered.removedBelow(number);
    }

    /** Returns the number of records. */
    public long size() {
        return nextSequence;
    }

    public Path directory() {
        return directory;
    }

    /** Closes the journal. Call with the lock of {@link #append}. */
    @Override
    public void close() {
        fail(new IllegalStateException("it was closed"));
        MappedFaults.drop(); // Chronicle closes under a lock of the whole process
        new CloseSteps()
                .attempt(reservation::close)
                .attempt(appender::close)
                .attempt(queue::close)
                .finishUnchecked();
    }
}
