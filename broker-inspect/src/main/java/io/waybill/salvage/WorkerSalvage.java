package io.waybill.salvage;

import io.waybill.api.WorkerInfo;
import io.waybill.broker.file.StateFiles;
import io.waybill.home.Home;
import io.waybill.home.StoredWorker;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.cursor.CursorSlot;
import io.waybill.home.cursor.StoredCursor;
import io.waybill.home.note.NotedOutcomes;
import io.waybill.home.note.Responders;
import io.waybill.host.SafeFiles;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.journal.append.QueueCopy;
import io.waybill.journal.read.QueueReader;
import io.waybill.kept.KeptValues;
import io.waybill.query.verify.LostRecords;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongConsumer;

/**
 * Copies one worker to the new home. Its name is locked there from {@link #begin} to {@link #end}.
 *
 * <p>One thread, once: begin, queues, end.
 */
final class WorkerSalvage {

    private static final int MAX_PROBLEMS = 1000;

    private final WorkerInfo info;
    private final Path from;
    private final SafeFiles files;
    private final List<StoredCursor> cursors;
    private final long epoch;
    private final List<String> problems = new ArrayList<>();
    private final Map<JournalQueue, Positions> positions = new EnumMap<>(JournalQueue.class);
    private final List<SalvagedQueue> queues = new ArrayList<>();
    private WorkerDirectory to;
    private long copiedFiles;
    private long untold;

    /** Reads the worker's record and cursors before the queues, which then contain all records that they refer to. */
    WorkerSalvage(WorkerInfo info, Path from, SafeFiles files) {
        this.info = info;
        this.from = from;
        this.files = files;
        StoredWorker stored = new StoredWorker(info, from, files);
        cursors = stored.cursors();
        epoch = stored.epoch();
        stored.problems().forEach(problem -> problem(problem.text()));
        for (JournalQueue queue : JournalQueue.values()) {
            positions.put(queue, new Positions());
        }
    }

    WorkerInfo info() {
        return info;
    }

    List<StoredCursor> cursors() {
        return cursors;
    }

    /** Returns the positions of other workers in this worker's queue. */
    Positions positions(JournalQueue queue) {
        return positions.get(queue);
    }

    void begin(Home home) throws IOException {
        to = home.restore(info, epoch);
    }

    /** Copies the queues, and the other files. */
    void copy(Roll roll, LongConsumer progress) throws IOException {
        LostRecords lost = new LostRecords();
        for (JournalQueue queue : JournalQueue.values()) {
            copyQueue(queue, roll, lost, progress);
        }
        lost.write(to.path(), files);
        FileCopies copies = new FileCopies(from, to.path(), files, this::problem);
        copies.copyDirectories();
        copies.copyFile(NotedOutcomes.FILE);
        copies.copyFile(Responders.FILE);
        copies.copy(KeptValues.DIRECTORY, file -> isWhole(KeptValues.damage(file, info.id(), files)));
        copies.copy(
                StateFiles.DIRECTORY,
                file -> StateFiles.isStore(file) && isWhole(StateFiles.damage(file, info.id(), files)));
        copiedFiles = copies.copied();
    }

    private void copyQueue(JournalQueue queue, Roll roll, LostRecords lost, LongConsumer progress) throws IOException {
        Path source = queue.in(from);
        if (!Files.exists(source, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        try {
            files.requireDirectory(source);
        } catch (IOException e) {
            problem(String.valueOf(e.getMessage()));
            return;
        }
        JournalSettings reading = new JournalSettings(
                roll, 4L * QueueCopy.MAX_RECORD_BYTES, QueueCopy.MAX_RECORD_BYTES, QueueCopy.MAX_RECORD_BYTES);
        Path target = to.subdirectory(queue.directoryName());
        try (QueueReader reader = QueueReader.open(source, files, reading);
                QueueCopy copy = QueueCopy.open(target, roll, files, new FreeSpace(files))) {
            queues.add(new QueueSalvage(
                            queue, info.id(), roll, reader, copy, positions.get(queue), lost, this::problem, progress)
                    .run());
        }
    }

    private boolean isWhole(String damage) {
        if (!damage.isEmpty()) {
            problem(damage);
        }
        return damage.isEmpty();
    }

    private void problem(String text) {
        if (problems.size() < MAX_PROBLEMS) {
            problems.add(text);
        } else {
            untold++;
        }
    }

    /** Copies the cursors of copied peers, and leaves the home. */
    SalvagedWorker end(Map<Integer, WorkerSalvage> peers) throws IOException {
        int known = 0;
        for (StoredCursor cursor : cursors) {
            WorkerSalvage peer = peers.get(cursor.peerId());
            if (peer != null) {
                CursorSlot slot = to.cursors().slot(cursor.peerId());
                slot.requestsIndex(peer.positions(JournalQueue.REQUESTS).of(cursor.requestsIndex()));
                slot.responsesIndex(peer.positions(JournalQueue.RESPONSES).of(cursor.responsesIndex()));
                slot.requestsCompletedBefore(
                        peer.positions(JournalQueue.REQUESTS).of(cursor.requestsCompletedBefore()));
                slot.requestsConsumed(cursor.requestsConsumed());
                slot.requestBytesConsumed(cursor.requestBytesConsumed());
                known++;
            }
        }
        to.leave();
        if (untold > 0) {
            problems.add(untold + " more");
        }
        return new SalvagedWorker(info, epoch, queues, known, copiedFiles, problems);
    }

    /** Releases the name after a failure. */
    void abandon() throws IOException {
        if (to != null) {
            to.leave();
        }
    }
}
