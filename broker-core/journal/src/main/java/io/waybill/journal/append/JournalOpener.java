package io.waybill.journal.append;

import io.waybill.host.Clock;
import io.waybill.journal.ChronicleFlags;
import io.waybill.journal.DiskSpace;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.format.QueueStructure;
import io.waybill.journal.read.LastRecord;
import io.waybill.journal.recover.QueueBeginning;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;

/**
 * Opens queues for their one writer: repairs what a crash left, finds the last record, and reserves space. Stateless.
 */
public final class JournalOpener {

    private JournalOpener() {}

    /**
     * Opens the queue in {@code directory}, or begins it. Call under the worker's lock: no other process may write
     * here.
     *
     * @throws JournalFullException when there is no room to begin
     */
    public static Journal open(Path directory, JournalSettings settings, Clock clock, DiskSpace disk)
            throws JournalFullException {
        try {
            return open(directory, settings, clock, disk, prepared(directory, settings, disk), Integer.MIN_VALUE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Opens a queue after a check of the host's boot: writes to no file from before a restart, and only after all
     * records that are known to have been written.
     *
     * @throws IOException when it can't be noted that the queue is complete in this boot
     */
    public static Journal open(
            Path directory, JournalSettings settings, Clock clock, DiskSpace disk, QueueBeginning beginning)
            throws JournalFullException, IOException {
        LastRecord last;
        try {
            last = beginning.reconcile(prepared(directory, settings, disk));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Journal journal = open(directory, settings, clock, disk, last, beginning.firstCycle());
        try {
            beginning.opened();
            return journal;
        } catch (IOException | RuntimeException | Error e) {
            journal.close();
            throw e;
        }
    }

    private static LastRecord prepared(Path directory, JournalSettings settings, DiskSpace disk) throws IOException {
        ChronicleFlags.require();
        QueueRepair.prepare(directory, disk);
        return LastRecord.read(directory, settings);
    }

    private static Journal open(
            Path directory, JournalSettings settings, Clock clock, DiskSpace disk, LastRecord last, int firstCycle)
            throws JournalFullException {
        Reservation.reserveTable(directory.resolve(QueueStructure.TABLE), disk);
        Journal journal = new Journal(directory, settings, disk, last);
        try {
            journal.enterFirst(clock.wallNs(), firstCycle);
            journal.createFile();
            return journal;
        } catch (Throwable e) { // also an IOException, which Chronicle does not declare
            journal.close();
            throw e;
        }
    }
}
