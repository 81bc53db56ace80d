package io.waybill.system;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.archive.ArchiveReader;
import io.waybill.archive.ArchivedStorage;
import io.waybill.archive.Omission;
import io.waybill.host.Host;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.testing.core.Seeds;
import io.waybill.testing.core.Waits;
import io.waybill.wire.RecordView;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Archives of workers that are killed, and of workers whose disk is full. */
@Tag("ci")
@Timeout(600)
class ArchiveSystemTest {

    private static final int KILLS = 4;
    private static final long RESERVE = 2 << 20;

    @TempDir
    private Path directory;

    private final Host host = Host.real();
    private final Random random = Seeds.random();
    private Path home;

    private WorkerProcess start() throws Exception {
        return WorkerProcess.start(
                        ArchivingMain.class, home, "worker", directory.resolve("log"), List.of(String.valueOf(RESERVE)))
                .awaitReady();
    }

    /** What the archive has of each message that a queue named in segments. What is there must be what was sent. */
    private List<ArchivedStorage> look(WorkerProcess process, JournalQueue queue) throws IOException {
        Path worker = home.resolve("workers").resolve(process.id() + "-worker");
        List<ArchivedStorage> all = new ArrayList<>();
        try (ArchiveReader archive = ArchiveReader.open(worker, host.files());
                QueueReader records = QueueReader.open(queue.in(worker), host.files(), WorkerMain.JOURNAL)) {
            for (Step step = records.next(); step != Step.END; step = records.next()) {
                RecordView record = records.record();
                if (step == Step.RECORD && record.tensorCount() > 0) {
                    ArchivedStorage found = archive.find(queue, records.position(), record.sequence(), 0);
                    if (found.isKept()) {
                        byte[] expected = ArchivingMain.bytes(record.payload().getLong());
                        assertThat(content(archive, queue, records.position().fileName(), found))
                                .as("record %d of %s", record.sequence(), queue)
                                .isEqualTo(expected);
                    }
                    all.add(found);
                }
            }
        }
        return all;
    }

    private static byte[] content(ArchiveReader archive, JournalQueue queue, String file, ArchivedStorage storage)
            throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        boolean isTrue = archive.read(queue, file, storage, piece -> copy(piece, bytes));
        assertThat(isTrue).as("the checksum of " + storage).isTrue();
        return bytes.toByteArray();
    }

    private static void copy(ByteBuffer piece, ByteArrayOutputStream to) {
        byte[] heap = new byte[piece.remaining()];
        piece.get(heap);
        to.writeBytes(heap);
    }

    private static Set<Omission> omissions(List<ArchivedStorage> seen) {
        Set<Omission> omissions = new TreeSet<>();
        seen.forEach(one -> one.omission().ifPresent(omissions::add));
        return omissions;
    }

    @Test
    void keepsWhatWasArchivedWhenTheWorkerIsKilled() throws Exception {
        home = directory.resolve("home");
        long kept = 0;
        for (int incarnation = 1; incarnation <= KILLS; incarnation++) {
            try (WorkerProcess process = start()) {
                process.ask("go", "going");
                long some = random.nextInt(150);
                Waits.until(process::log, () -> process.stat("archived") > some);
                process.kill();
                long before = kept;
                kept = 0;
                // what overflowed may be more of one than of the other
                for (JournalQueue queue : JournalQueue.values()) {
                    List<ArchivedStorage> seen = look(process, queue);
                    assertThat(omissions(seen))
                            .isSubsetOf(Omission.LOST, Omission.PENDING, Omission.OVERFLOW, Omission.RATE);
                    kept += seen.stream().filter(ArchivedStorage::isKept).count();
                }
                assertThat(kept - before)
                        .as("of incarnation %d, which said that it had archived more than %d", incarnation, some)
                        .isGreaterThan(some);
            }
        }
        try (WorkerProcess last = start()) {
            last.ask("go", "going");
            Waits.until(last::log, () -> last.stat("answered") > 100);
            last.ask("stop", "stopped");
            last.leave();
            for (JournalQueue queue : JournalQueue.values()) {
                List<ArchivedStorage> seen = look(last, queue);
                assertThat(omissions(seen)).isSubsetOf(Omission.LOST, Omission.OVERFLOW, Omission.RATE);
                assertThat(omissions(seen.subList(seen.size() - 100, seen.size())))
                        .as("of the life that ended in order")
                        .isSubsetOf(Omission.OVERFLOW, Omission.RATE);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(SmallDisk.Kind.class)
    void doesNotHarmCallsWhenTheDiskIsFull(SmallDisk.Kind kind) throws Exception {
        try (SmallDisk disk = SmallDisk.mount(kind, 160, directory)) {
            home = disk.path().resolve("home");
            try (WorkerProcess process = start()) {
                process.ask("go", "going");
                Waits.until(process::log, () -> process.stat("archived") > 20);
                process.ask("stop", "stopped");
                disk.fillBut(2 * RESERVE / 1024 - 64);
                process.ask("go", "going");
                Waits.until(process::log, () -> process.stat("diskfull") > 20);
                long responded = process.stat("answered");
                Waits.until(process::log, () -> process.stat("answered") > responded + 20);
                disk.free();
                long archived = process.stat("archived");
                Waits.until(process::log, () -> process.stat("archived") > archived + 20);
                process.ask("stop", "stopped");
                assertThat(process.stat("failed")).as(process::log).isZero();
                process.leave();
                List<ArchivedStorage> seen = look(process, JournalQueue.REQUESTS);
                assertThat(omissions(seen))
                        .contains(Omission.DISK_FULL)
                        .isSubsetOf(Omission.DISK_FULL, Omission.OVERFLOW, Omission.RATE);
            }
        }
    }
}
