package io.waybill.archive;

import static io.waybill.archive.WrittenArchive.QUEUE_FILE;
import static io.waybill.archive.WrittenArchive.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.Host;
import io.waybill.journal.JournalQueue;
import io.waybill.tensor.NoLeaks;
import io.waybill.tensor.Transit;
import io.waybill.tensor.segment.LeasedBytes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** What an archive writes about storages that it does not keep. */
@Timeout(120)
class ArchiveNotesTest {

    private static final int SIZE = 77;

    @TempDir
    Path directory;

    @RegisterExtension
    final NoLeaks leaks = new NoLeaks();

    private static ArchiveWriter.Session session(long epoch, long firstSequence) {
        return new ArchiveWriter.Session(ArchivePolicy.ALL, epoch, firstSequence, Long.MAX_VALUE);
    }

    private static Optional<Omission> why(ArchiveReader reader, long sequence) throws IOException {
        return reader.find(JournalQueue.REQUESTS, QUEUE_FILE, sequence, 0).omission();
    }

    /** How many system calls of this thread have written something so far. */
    private static long writes() throws IOException {
        return Files.readAllLines(Path.of("/proc/thread-self/io")).stream()
                .filter(line -> line.startsWith("syscw:"))
                .mapToLong(line -> Long.parseLong(line.substring(6).trim()))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void writesManyAtOnceAndFindsEachAfterAKill() throws IOException {
        try (WrittenArchive archive = new WrittenArchive(directory)) {
            archive.writer().session(session(1, 0), 1);
            int lot = 300; // the second one fills an index record
            int lots = 10;
            archive.append(lots * lot + 1, 0, bytes(1, 100));
            long before = writes();
            for (int i = 0; i < lots; i++) {
                archive.omit(
                        Omission.RATE,
                        SIZE,
                        LongStream.range(i * lot, (i + 1) * lot).toArray());
            }
            long written = writes() - before;
            assertThat(written)
                    .as("writes for %s notes, %s at once", lots * lot, lot)
                    .isLessThanOrEqualTo(6L * lots);
            archive.reopenWithoutClosing();
            archive.append(lots * lot, 0, bytes(1, 100));
            try (ArchiveReader reader = archive.reader()) {
                for (int i = 0; i < lots * lot; i++) {
                    ArchivedStorage found = reader.find(JournalQueue.REQUESTS, QUEUE_FILE, i, 0);
                    assertThat(found.omission()).as("of message %s", i).contains(Omission.RATE);
                    assertThat(found.sizeBytes()).isEqualTo(SIZE);
                }
                assertThat(why(reader, lots * lot)).isEmpty();
            }
        }
    }

    @Test
    void saysWhatIsKnownWhenAKillCutsThemOff() throws IOException {
        int notes = 20;
        Path path;
        long from;
        byte[] whole;
        try (WrittenArchive archive = new WrittenArchive(directory)) {
            path = archive.path;
            archive.writer().session(session(1, 0), 1);
            from = archive.writer().end();
            archive.omit(Omission.RATE, SIZE, LongStream.range(0, notes).toArray());
            whole = Files.readAllBytes(path); // not closed yet
        }
        for (int length = (int) from;
                length < from + notes * ArchiveLayout.RECORD_BYTES;
                length += ArchiveLayout.ALIGNMENT) {
            Files.write(path, Arrays.copyOf(whole, length));
            long there = (length - from) / ArchiveLayout.RECORD_BYTES;
            requireWhy(there, notes, Omission.PENDING, length);
            try (WrittenArchive next = new WrittenArchive(directory)) {
                next.writer().session(session(2, 100), 1);
            }
            requireWhy(there, notes, Omission.LOST, length);
        }
    }

    private void requireWhy(long there, int notes, Omission others, int length) throws IOException {
        try (ArchiveReader reader = ArchiveReader.open(directory, Host.real().files())) {
            for (int i = 0; i < notes; i++) {
                assertThat(why(reader, i))
                        .as("of message %s in a file that was cut at %s", i, length)
                        .contains(i < there ? Omission.RATE : others);
            }
        }
    }

    /** This process may not make files larger than this; a negative number ends that. */
    private static void limitFiles(long bytes) throws IOException, InterruptedException {
        String limit = bytes < 0 ? "unlimited" : Long.toString(bytes);
        String pid = Long.toString(ProcessHandle.current().pid());
        Process process = new ProcessBuilder("prlimit", "--pid", pid, "--fsize=" + limit + ":")
                .inheritIO()
                .start();
        assertThat(process.waitFor()).as("status of prlimit").isZero();
    }

    @Test
    void writesLaterWhatItCouldNotWrite() throws IOException, InterruptedException {
        ArchiveSettings settings =
                ArchiveSettings.DEFAULTS.withPolicy(ArchivePolicy.UP_TO).withMaxStorageBytes(10);
        Path worker = directory.resolve("worker");
        Files.createDirectory(worker);
        try (Transit transit = new Transit(directory, leaks, Transit.oneSegment())) {
            Archive archive = Archive.open(settings, worker, WrittenArchive.WORKER, 1, Host.real(), 0, 0, 0);
            send(archive, transit, worker, 0, 3);
            archive.doWork();
            Path file =
                    ArchiveLayout.directory(worker, JournalQueue.REQUESTS).resolve(ArchiveLayout.fileName(QUEUE_FILE));
            limitFiles(Files.size(file));
            try {
                send(archive, transit, worker, 3, 8);
                archive.doWork();
                archive.doWork();
            } finally {
                limitFiles(-1);
            }
            requireTooLarge(worker, 3);
            archive.doWork();
            requireTooLarge(worker, 8);
            archive.onClose();
            archive.close();
            assertThat(transit.pool.usedBytes())
                    .as("bytes of regions that are held")
                    .isZero();
        }
    }

    /** A reader that sees no waiting storages finds all notes in the file. */
    @Test
    void countsAsWaitingUntilItIsWritten() {
        Backlog backlog = new Backlog(1 << 20, 0, 0);
        backlog.next();
        backlog.done(3);
        assertThat(backlog.count()).isEqualTo(3);
        backlog.written();
        assertThat(backlog.count()).isZero();
    }

    private static void send(Archive archive, Transit transit, Path worker, int from, int to) {
        for (int i = from; i < to; i++) {
            LeasedBytes bytes = new LeasedBytes(transit.pool.take(SIZE), 0, SIZE, false);
            archive.requests().sent(worker.resolve(QUEUE_FILE), i, WrittenArchive.id(i), 0, bytes);
        }
    }

    /** That of so many storages it is known why they are not there, and that of the next one it is not. */
    private static void requireTooLarge(Path worker, int count) throws IOException {
        try (ArchiveReader reader = ArchiveReader.open(worker, Host.real().files())) {
            for (int i = 0; i < count; i++) {
                assertThat(why(reader, i)).as("of message %s", i).contains(Omission.TOO_LARGE);
            }
            assertThat(why(reader, count)).as("of message %s", count).contains(Omission.PENDING);
        }
    }
}
