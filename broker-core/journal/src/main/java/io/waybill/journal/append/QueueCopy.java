package io.waybill.journal.append;

import io.waybill.host.NativeFile;
import io.waybill.host.SafeFiles;
import io.waybill.host.failure.MappedFaults;
import io.waybill.journal.ChronicleFlags;
import io.waybill.journal.DiskSpace;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.journal.format.QueueBuilder;
import io.waybill.journal.format.RollTime;
import io.waybill.wire.MessageBuffer;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.PointerBytesStore;
import net.openhft.chronicle.queue.ChronicleQueue;
import net.openhft.chronicle.queue.ExcerptAppender;
import net.openhft.chronicle.wire.DocumentContext;

/**
 * Writes records into a new queue as they are, with their sequence and checksum, into files of the numbers that they
 * were in. The records are on the disk when {@link #finish} has returned.
 *
 * <p><b>Threads.</b> One. <b>Ownership.</b> No other process writes in the directory, which is there and empty.
 */
public final class QueueCopy implements Closeable {

    /** Max size of a record that is copied, for any settings of its writer. */
    public static final int MAX_RECORD_BYTES = 64 << 20;

    private static final int FAULTS_LOOKED_AT = 1 << 10;
    private static final int BLOCK_RECORDS = 4;
    private static final long RESERVE_BYTES = 8 << 20;

    private final Path directory;
    private final Roll roll;
    private final SafeFiles files;
    private final Reservation reservation;
    private final PointerBytesStore source = new PointerBytesStore();
    private final List<Path> written = new ArrayList<>();
    private JournalSettings settings;
    private RollTime time;
    private ChronicleQueue queue; // null before the first record
    private ExcerptAppender appender;
    private int cycle;
    private long position;
    private long records;

    private QueueCopy(Path directory, Roll roll, SafeFiles files, DiskSpace disk) {
        this.directory = directory;
        this.roll = roll;
        this.settings = JournalSettings.defaults().withRoll(roll).withReserveBytes(RESERVE_BYTES);
        this.files = files;
        this.reservation = new Reservation(disk, RESERVE_BYTES, roll.indexBytes());
    }

    /** Prepares to write by this roll cycle. No file exists before the first record. */
    public static QueueCopy open(Path directory, Roll roll, SafeFiles files, DiskSpace disk) {
        ChronicleFlags.require();
        return new QueueCopy(directory, roll, files, disk);
    }

    /**
     * Appends a record that was checked.
     *
     * @param toCycle number of the file for the record, never lower than before
     * @return the record's index in the new queue
     * @throws JournalFullException when there is no room
     * @throws IllegalArgumentException when the record is larger than the settings allow, or belongs to an older file
     */
    public long append(MessageBuffer record, int toCycle) throws JournalFullException {
        if (record.length() > settings.maxRecordBytes()) {
            throw new IllegalArgumentException(
                    "a record of " + record.length() + " bytes, at most " + settings.maxRecordBytes() + " are written");
        }
        if (queue == null || toCycle != cycle) {
            enter(toCycle);
        }
        reservation.fits(position, record.length());
        source.set(record.address(), record.length());
        write(record.length());
        reservation.written(position);
        if (++records % FAULTS_LOOKED_AT == 0) {
            MappedFaults.surface();
        }
        return appender.lastIndexAppended();
    }

    /** Enlarges the mapped blocks: a record must not extend over more than one. */
    private void makeBlocksLarger(int length) {
        if (length > MAX_RECORD_BYTES) {
            throw new IllegalArgumentException(
                    "a record of " + length + " bytes, at most " + MAX_RECORD_BYTES + " are copied");
        }
        settings = new JournalSettings(roll, (long) BLOCK_RECORDS * MAX_RECORD_BYTES, MAX_RECORD_BYTES, RESERVE_BYTES);
        if (queue != null) {
            close();
            openQueue();
        }
    }

    private void openQueue() {
        queue = QueueBuilder.build(QueueBuilder.of(directory, settings).timeProvider(time));
        appender = queue.createAppender();
    }

    private void enter(int newCycle) throws JournalFullException {
        if (queue != null && newCycle < cycle) {
            throw new IllegalArgumentException("file " + newCycle + " comes before file " + cycle);
        }
        if (queue == null) {
            time = new RollTime(roll.startMs(newCycle));
            openQueue(); // while there is no file: Chronicle waits for the header of a file that is only reserved
        } else {
            time.advanceTo(roll.startMs(newCycle));
        }
        Path file = directory.resolve(roll.fileName(newCycle));
        reservation.enter(file, 0);
        written.add(file);
        cycle = newCycle;
        position = 0;
    }

    private void write(int length) {
        DocumentContext document = appender.writingDocument();
        boolean done = false;
        try {
            Bytes<?> bytes = document.wire().bytes();
            long start = bytes.writePosition();
            bytes.write(source, 0L, (long) length);
            position = start + length;
            done = true;
        } finally {
            if (!done) {
                document.rollbackOnClose();
            }
            document.close();
        }
    }

    /** Syncs everything to the disk. */
    public void finish() throws IOException {
        MappedFaults.surface();
        close();
        for (Path file : written) {
            try (NativeFile open = files.openOwnNative(file)) {
                open.dataSync();
            }
        }
        if (!written.isEmpty()) {
            files.syncParent(written.get(0));
        }
    }

    /** Closes the queue. Without {@link #finish}, the written records may be incomplete. */
    @Override
    public void close() {
        if (queue != null) {
            appender.close();
            queue.close();
        }
    }
}
