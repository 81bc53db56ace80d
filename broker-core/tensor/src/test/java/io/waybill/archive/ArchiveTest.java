package io.waybill.archive;

import static io.waybill.archive.WrittenArchive.QUEUE_FILE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.journal.JournalQueue;
import io.waybill.tensor.NoLeaks;
import io.waybill.tensor.SentStorages;
import io.waybill.tensor.Transit;
import io.waybill.tensor.segment.LeasedBytes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The archive of one worker: which tensors it keeps, what it says of the others, and when their memory is free again. */
@Timeout(120)
class ArchiveTest {

    private static final int SIZE = 100_000;
    private static final ArchiveSettings SETTINGS =
            ArchiveSettings.DEFAULTS.withPolicy(ArchivePolicy.ALL).withBytesPerSecond(0);

    @TempDir
    private Path directory;

    @RegisterExtension
    final NoLeaks leaks = new NoLeaks();

    private final ManualClock clock = new ManualClock();
    private Path worker;
    private Transit transit;
    private int epoch;

    @BeforeEach
    void open() throws IOException {
        worker = Files.createDirectory(directory.resolve("worker"));
        transit = new Transit(directory, leaks, Transit.oneSegment());
    }

    @AfterEach
    void close() {
        transit.close();
    }

    private Archive archive(ArchiveSettings settings, Host host) {
        epoch++;
        return Archive.open(settings, worker, WrittenArchive.WORKER, epoch, host, 10 * (epoch - 1), 0, 0);
    }

    /** Opens an archive that the test polls in the place of its thread. */
    private Archive archive(ArchiveSettings settings) {
        return archive(settings, Host.real().withClock(clock));
    }

    private void send(SentStorages to, long sequence) {
        LeasedBytes bytes = new LeasedBytes(transit.pool.take(SIZE), 0, SIZE, false);
        to.sent(worker.resolve(QUEUE_FILE), sequence, WrittenArchive.id(sequence), 0, bytes);
    }

    private static void end(Archive archive) {
        archive.onClose(); // as its thread does at its end
        archive.close();
    }

    private ArchivedStorage find(JournalQueue queue, long sequence) throws IOException {
        try (ArchiveReader reader = ArchiveReader.open(worker, Host.real().files())) {
            return reader.find(queue, QUEUE_FILE, sequence, 0);
        }
    }

    private void assertIsKept(JournalQueue queue, long sequence) throws IOException {
        ArchivedStorage found = find(queue, sequence);
        assertThat(found.omission())
                .as("why storage %s of the %s is not kept", sequence, queue)
                .isEmpty();
        assertThat(found.sizeBytes()).as("its size").isEqualTo(SIZE);
    }

    private void assertIsOmitted(long sequence, Omission why) throws IOException {
        assertThat(find(JournalQueue.REQUESTS, sequence).omission())
                .as("why storage %s is not kept", sequence)
                .contains(why);
    }

    private void assertAllMemoryIsFree(String when) {
        assertThat(transit.pool.usedBytes())
                .as("bytes of regions that are held %s", when)
                .isZero();
    }

    @Test
    void aStorageIsKeptInTheArchiveOfItsQueueAndItsMemoryIsFreeThen() throws IOException {
        Archive archive = archive(SETTINGS);
        send(archive.requests(), 1);
        send(archive.responses(), 2);
        assertThat(transit.pool.usedBytes()).as("bytes that wait").isGreaterThanOrEqualTo(2 * SIZE);
        assertThat(archive.status().waitingStorages()).as("storages that wait").isEqualTo(2);
        archive.doWork();
        assertIsKept(JournalQueue.REQUESTS, 1);
        assertIsKept(JournalQueue.RESPONSES, 2);
        assertAllMemoryIsFree("when both are archived");
        assertThat(archive.status().waitingStorages())
                .as("storages that wait still")
                .isZero();
        assertThat(archive.status().archivedStorages())
                .as("storages that are kept")
                .isEqualTo(2);
        end(archive);
    }

    @Test
    void withoutAPolicyNothingIsKeptAndTheFilesOfAnEarlierProcessSaySo() throws IOException {
        Archive none = archive(SETTINGS.withPolicy(ArchivePolicy.NONE));
        send(none.requests(), 1);
        assertAllMemoryIsFree("by a worker that keeps nothing");
        end(none);
        assertThat(ArchiveLayout.directory(worker, JournalQueue.REQUESTS)).doesNotExist();

        Archive keeping = archive(SETTINGS);
        send(keeping.requests(), 12);
        end(keeping);
        Archive later = archive(SETTINGS.withPolicy(ArchivePolicy.NONE));
        send(later.requests(), 21);
        end(later);
        assertIsKept(JournalQueue.REQUESTS, 12);
        assertIsOmitted(21, Omission.NOT_KEPT);
    }

    @Test
    void whereCallsMustNotWaitAStorageThatExceedsTheBacklogIsDroppedAtOnce() throws IOException {
        Archive archive = archive(SETTINGS.withWaitingBytes(SIZE + 1).withOverflow(ArchiveOverflow.DROP));
        send(archive.requests(), 1);
        long waiting = transit.pool.usedBytes();
        send(archive.requests(), 2);
        assertThat(transit.pool.usedBytes())
                .as("bytes of regions that are held, with a storage that is not kept")
                .isEqualTo(waiting);
        assertThatCode(archive::requireRoom)
                .as("a call while the backlog is full")
                .doesNotThrowAnyException();
        archive.doWork();
        send(archive.requests(), 3);
        archive.doWork();
        assertIsKept(JournalQueue.REQUESTS, 1);
        assertIsOmitted(2, Omission.OVERFLOW);
        assertIsKept(JournalQueue.REQUESTS, 3);
        assertThat(archive.status().dropped()).containsOnly(Map.entry(Omission.OVERFLOW, 1L));
        end(archive);
    }

    @Test
    void whereCallsWaitNothingIsDroppedAndNoneBeginsWhileTheBacklogIsFull() throws IOException {
        Archive archive = archive(SETTINGS.withWaitingBytes(SIZE).withOverflow(ArchiveOverflow.WAIT));
        archive.requireRoom();
        send(archive.requests(), 1);
        assertThatThrownBy(archive::requireRoom, "a call while the backlog is full")
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.BACK_PRESSURE))
                .hasMessageContaining("archive.waiting-bytes is " + SIZE);
        assertThatThrownBy(archive::giveWay, "a tensor that needs the memory").isInstanceOf(CallException.class);
        send(archive.requests(), 2); // of a call that had begun
        archive.doWork();
        archive.requireRoom();
        assertThat(archive.giveWay()).as("memory was freed while nothing waits").isFalse();
        assertIsKept(JournalQueue.REQUESTS, 1);
        assertIsKept(JournalQueue.REQUESTS, 2);
        end(archive);
    }

    @Test
    void whatWaitsGivesWayToATensorThatNeedsTheMemory() throws IOException {
        Archive archive = archive(SETTINGS);
        assertThat(archive.giveWay()).as("memory was freed while nothing waits").isFalse();
        send(archive.requests(), 1);
        send(archive.responses(), 2);
        assertThat(archive.giveWay()).as("memory was freed").isTrue();
        assertAllMemoryIsFree("after the archive gave way");
        assertThat(archive.giveWay()).as("memory was freed again").isFalse();
        send(archive.requests(), 3);
        archive.doWork();
        assertIsOmitted(1, Omission.OVERFLOW);
        assertIsKept(JournalQueue.REQUESTS, 3);
        assertThat(archive.status().waitingBytes()).as("bytes that wait").isZero();
        end(archive);
    }

    @Test
    void aStorageBeyondTheRateIsNotKeptUntilTimeHasPassed() throws IOException {
        Archive archive = archive(SETTINGS.withWaitingBytes(2 * SIZE).withBytesPerSecond(SIZE));
        for (int i = 0; i < 3; i++) {
            send(archive.requests(), i);
            archive.doWork();
        }
        clock.advance(Duration.ofSeconds(1));
        send(archive.requests(), 3);
        send(archive.requests(), 4);
        archive.doWork();
        for (long kept : new long[] {0, 1, 3}) {
            assertIsKept(JournalQueue.REQUESTS, kept);
        }
        assertIsOmitted(2, Omission.RATE);
        assertIsOmitted(4, Omission.RATE);
        assertAllMemoryIsFree("by storages that are kept or not");
        end(archive);
    }

    @Test
    void itsThreadKeepsWhatWasSentBeforeTheCloseAndNothingLater() throws IOException {
        Archive archive = archive(SETTINGS, Host.real());
        archive.start("a", Host.real().threads());
        int before = 5; // the close waits for a limited time, and the thread has a low priority
        for (int i = 0; i < before; i++) {
            send(archive.requests(), i);
        }
        archive.close();
        send(archive.requests(), before);
        assertAllMemoryIsFree("after the close, with a storage that came later");
        for (int i = 0; i < before; i++) {
            assertIsKept(JournalQueue.REQUESTS, i);
        }
        assertThat(archive.status().dropped()).containsOnly(Map.entry(Omission.CLOSED, 1L));
    }
}
