package io.waybill.worker;

import io.waybill.home.WorkerDirectory;
import io.waybill.home.cursor.Cursors;
import io.waybill.home.error.HomeException;
import io.waybill.host.Host;
import io.waybill.host.failure.HostFailures;
import io.waybill.journal.DiskSpace;
import io.waybill.journal.Durability;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.Quota;
import io.waybill.journal.append.Journal;
import io.waybill.journal.append.JournalOpener;
import io.waybill.journal.check.StructureCheck;
import io.waybill.journal.recover.QueueBeginning;
import io.waybill.worker.recover.QueueWitnesses;
import io.waybill.worker.upkeep.FileSpace;
import java.io.IOException;
import java.nio.file.Path;

/**
 * The two queues of a worker, opened after all checks of their files.
 *
 * @param quota of both
 * @param asking beginning of the requests; {@code responding} is that of the responses
 */
record OpenedQueues(
        Quota quota, Journal requests, Journal responses, QueueBeginning asking, QueueBeginning responding) {

    /**
     * Opens the queues.
     *
     * @param opened receives each queue, to close it when a later step throws
     */
    static OpenedQueues open(WorkerParts.Opened opened, WorkerDirectory directory, WorkerSettings settings)
            throws IOException {
        Cursors cursors = directory.cursors();
        if (settings.journal().durability() == Durability.EACH) {
            cursors.holdReaders();
        } else {
            cursors.freeReaders();
        }
        Quota quota = new Quota(
                new FileSpace(directory.home().host().files()),
                settings.retention().maxBytes());
        QueueWitnesses witnesses =
                QueueWitnesses.hear(directory, settings.journal().roll());
        QueueBeginning asking =
                beginning(directory, JournalQueue.REQUESTS, settings, cursors.requestsOnDiskBefore(), witnesses);
        QueueBeginning responding =
                beginning(directory, JournalQueue.RESPONSES, settings, cursors.responsesOnDiskBefore(), witnesses);
        Journal requests = opened.add(openJournal(directory, JournalQueue.REQUESTS, settings, quota, asking));
        Journal responses = opened.add(openJournal(directory, JournalQueue.RESPONSES, settings, quota, responding));
        return new OpenedQueues(quota, requests, responses, asking, responding);
    }

    /** Returns why a queue needed a repair before; empty when none did. */
    String loss() {
        return (asking.loss() + " " + responding.loss()).trim();
    }

    private static QueueBeginning beginning(
            WorkerDirectory directory,
            JournalQueue queue,
            WorkerSettings settings,
            long onDiskBefore,
            QueueWitnesses witnesses)
            throws IOException {
        Host host = directory.home().host();
        Path path = directory.subdirectory(queue.directoryName());
        host.files().requireQueueDirectory(path);
        try {
            return QueueBeginning.find(
                    path,
                    settings.journal(),
                    host,
                    new FileSpace(host.files()),
                    directory.epoch(),
                    onDiskBefore,
                    witnesses.of(queue));
        } catch (RuntimeException e) { // thrown by Chronicle
            if (HostFailures.is(e)) {
                throw lacking(directory, queue, e);
            }
            throw e;
        }
    }

    /** Creates the error for a queue that can't be opened because a system call of this process failed. */
    private static HomeException lacking(WorkerDirectory directory, JournalQueue queue, Throwable e) {
        return new HomeException(
                "the " + queue.directoryName() + " of worker " + directory.name() + " can't be opened: "
                        + HostFailures.describe(e) + ", in " + queue.in(directory.path())
                        + "; start the worker again when the host has what it lacked, its files are not damaged",
                e);
    }

    private static Journal openJournal(
            WorkerDirectory directory,
            JournalQueue queue,
            WorkerSettings settings,
            DiskSpace disk,
            QueueBeginning beginning)
            throws IOException {
        Host host = directory.home().host();
        Path path = queue.in(directory.path());
        try {
            return JournalOpener.open(path, settings.journal(), host.clock(), disk, beginning);
        } catch (JournalFullException e) {
            throw new HomeException("no room for the journal of worker " + directory.name() + ": " + e.getMessage(), e);
        } catch (RuntimeException | InternalError | OutOfMemoryError e) { // thrown by Chronicle
            if (HostFailures.is(e)) {
                throw lacking(directory, queue, e);
            }
            String damage = StructureCheck.firstDamage(path, settings.journal(), host.files());
            throw new HomeException(
                    "the " + queue.directoryName() + " of worker " + directory.name() + " can't be opened: "
                            + (damage.isEmpty() ? path + ": " + HostFailures.text(e) : damage)
                            + "; waybill journal verify says what is damaged, waybill journal salvage copies the rest",
                    e);
        }
    }
}
