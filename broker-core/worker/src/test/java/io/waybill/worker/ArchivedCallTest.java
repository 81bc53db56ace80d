package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.archive.ArchiveOverflow;
import io.waybill.archive.ArchivePolicy;
import io.waybill.archive.ArchiveReader;
import io.waybill.archive.ArchiveSettings;
import io.waybill.archive.ArchiveStatus;
import io.waybill.archive.ArchivedStorage;
import io.waybill.archive.Omission;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.host.ForwardingClock;
import io.waybill.host.Host;
import io.waybill.journal.JournalQueue;
import io.waybill.tensor.DescribedTensors;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.testing.core.Waits;
import io.waybill.worker.ArchivedRecords.Kept;
import io.waybill.worker.peer.FlowLimits;
import io.waybill.worker.peer.Overflow;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What real workers leave in their archives. */
@Timeout(300)
class ArchivedCallTest {

    private static final TensorConfig TENSORS = new TensorConfig(8 << 20, 64 << 20, 4096, 64 << 10);
    private static final ArchiveSettings ALL = ArchiveSettings.DEFAULTS.withPolicy(ArchivePolicy.ALL);

    private static final int LOOKS_OF_TWO_TURNS = 8;

    @TempDir
    private Path directory;

    private final ArchiveClock archiveClock = new ArchiveClock();

    private Workers workers;
    private HandlerRegistry handlers;

    /** A clock that jumps for archives alone, and counts how often they look at it since. */
    private static final class ArchiveClock extends ForwardingClock {
        private final AtomicInteger looks = new AtomicInteger();
        private volatile long aheadNs;

        ArchiveClock() {
            super(Host.real().clock());
        }

        void jump(Duration by) {
            aheadNs = by.toNanos();
            looks.set(0);
        }

        @Override
        public long monotonicNs() {
            if (!Thread.currentThread().getName().endsWith("-archive")) {
                return super.monotonicNs();
            }
            looks.incrementAndGet();
            return super.monotonicNs() + aheadNs;
        }
    }

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory, Host.real().withClock(archiveClock));
        handlers = workers.registry();
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private Worker join(String name, ArchiveSettings archive) throws IOException {
        return workers.join(
                name,
                name.equals("server") ? handlers : workers.registry(),
                Workers.SETTINGS.toBuilder().tensors(TENSORS).archive(archive).build());
    }

    private static Tensor bytes(Worker worker, int length, int seed) {
        Storage storage = worker.buffers().allocate(length);
        ByteBuffer bytes = storage.bytes(0, length);
        for (int i = 0; i < length; i++) {
            bytes.put(i, (byte) (i * 31 + seed));
        }
        return Tensor.contiguous(DType.UINT8, new long[] {length}, storage);
    }

    private static byte[] expected(int length, int seed) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i * 31 + seed);
        }
        return bytes;
    }

    private static Request request(Tensor... tensors) {
        return Request.raw("server", MessageType.userRequest(0x42), ByteBuffer.allocate(1), List.of(tensors));
    }

    private void echo() {
        workers.handle(handlers, "0x142", (message, outbox) -> {
            message.tensors().forEach(tensor -> tensor.storage().retain());
            outbox.respond(message.payload(), message.tensors());
        });
    }

    @Test
    void keepsWhatRequestsAndResponsesNamedInSegments() throws IOException {
        echo();
        Worker server = join("server", ALL);
        Worker caller = join("caller", ALL);
        Tensor inline = bytes(caller, 100, 1);
        Tensor leased = bytes(caller, 500_000, 2);
        Tensor other = bytes(caller, 10_000, 3);
        Tensor view = new Tensor(DType.UINT8, new long[] {2}, new long[] {1}, 100, false, other.storage());
        try (Response first = caller.call(request(inline, leased, other));
                // what came from another is copied, and of a few elements of a large storage only these travel
                Response second = caller.call(request(first.tensors().get(1), view))) {
            assertThat(second.tensors()).hasSize(2);
        }
        List.of(inline, leased, other).forEach(tensor -> tensor.storage().release());
        caller.close();
        server.close();
        for (String name : List.of("caller", "server")) {
            List<Kept> kept = ArchivedRecords.of(
                    workers, name, name.equals("caller") ? JournalQueue.REQUESTS : JournalQueue.RESPONSES);
            assertThat(kept).hasSize(5);
            assertThat(DescribedTensors.isInline(kept.get(0).tensor())).isTrue();
            assertThat(kept.get(1).bytes()).isEqualTo(expected(500_000, 2));
            assertThat(kept.get(2).bytes()).isEqualTo(expected(10_000, 3));
            assertThat(kept.get(3).bytes()).isEqualTo(expected(500_000, 2));
            assertThat(DescribedTensors.isInline(kept.get(4).tensor())).isTrue();
            assertThat(kept.get(1).found().isShared()).isEqualTo(name.equals("caller"));
            assertThat(kept.get(3).found().isShared()).isFalse();
        }
    }

    @Test
    void keepsOneStorageOfTensorsThatShareIt() throws IOException {
        echo();
        Worker server = join("server", ALL);
        Worker caller = join("caller", ALL);
        Tensor whole = bytes(caller, 8000, 5);
        Tensor half = new Tensor(DType.UINT8, new long[] {6000}, new long[] {1}, 1000, false, whole.storage());
        caller.call(request(whole, half)).close();
        whole.storage().release();
        caller.close();
        server.close();
        List<Kept> kept = ArchivedRecords.of(workers, "caller", JournalQueue.REQUESTS);
        assertThat(kept).hasSize(2);
        assertThat(kept.get(0).found()).isEqualTo(kept.get(1).found());
        assertThat(kept.get(0).bytes()).isEqualTo(expected(8000, 5));
        assertThat(caller.archiveStatus().archivedStorages()).isEqualTo(1);
        assertThat(caller.archiveStatus().archivedBytes()).isEqualTo(8000);
    }

    @Test
    void keepsTheBytesWhenTheirRegionIsUsedAgainAtOnce() throws IOException {
        echo();
        Worker server = join("server", ArchiveSettings.NONE);
        Worker caller = join("caller", ALL);
        int calls = 200;
        for (int i = 0; i < calls; i++) {
            Tensor sent = bytes(caller, 50_000, i);
            caller.call(request(sent)).close();
            sent.storage().release();
        }
        caller.close();
        server.close();
        List<Kept> kept = ArchivedRecords.of(workers, "caller", JournalQueue.REQUESTS);
        assertThat(kept).hasSize(calls);
        for (int i = 0; i < calls; i++) {
            assertThat(kept.get(i).bytes()).as("call %d", i).isEqualTo(expected(50_000, i));
        }
        assertThat(ArchivedRecords.of(workers, "server", JournalQueue.RESPONSES))
                .allMatch(one -> one.found().omission().equals(Optional.of(Omission.NO_ARCHIVE)));
    }

    @Test
    void archivesWhatIsSentAfterTheArchiveHasRested() throws IOException {
        echo();
        join("server", ArchiveSettings.NONE);
        Worker caller = join("caller", ALL);
        archiveClock.jump(Duration.ofSeconds(12));
        Waits.until("its archive has seen that, and rests", () -> archiveClock.looks.get() > LOOKS_OF_TWO_TURNS);
        Tensor sent = bytes(caller, 10_000, 1);
        caller.call(request(sent)).close();
        sent.storage().release();
        Waits.until("it is archived", () -> caller.archiveStatus().archivedStorages() == 1);
    }

    @Test
    void saysWhichStoragesAreTooLarge() throws IOException {
        echo();
        Worker server = join("server", ArchiveSettings.NONE);
        Worker caller = join(
                "caller",
                ArchiveSettings.DEFAULTS.withPolicy(ArchivePolicy.UP_TO).withMaxStorageBytes(10_000));
        Tensor small = bytes(caller, 10_000, 1);
        Tensor large = bytes(caller, 10_001, 2);
        caller.call(request(small, large)).close();
        caller.close();
        server.close();
        List<Kept> kept = ArchivedRecords.of(workers, "caller", JournalQueue.REQUESTS);
        assertThat(kept.get(0).bytes()).isEqualTo(expected(10_000, 1));
        assertThat(kept.get(1).found().omission()).contains(Omission.TOO_LARGE);
        assertThat(kept.get(1).found().sizeBytes()).isEqualTo(10_001);
        assertThat(caller.archiveStatus().dropped()).containsOnlyKeys(Omission.TOO_LARGE);
        assertThat(ArchiveStatus.read(ArchivedRecords.workerPath(workers, "caller"), workers.host.files()))
                .hasValueSatisfying(shown -> {
                    assertThat(shown.archivedStorages()).isEqualTo(1);
                    assertThat(shown.droppedStorages()).isEqualTo(1);
                    assertThat(shown.waitingBytes()).isZero();
                });
    }

    @Test
    void distinguishesOneIncarnationFromTheNext() throws IOException {
        echo();
        Worker server = join("server", ArchiveSettings.NONE);
        ArchivePolicy[] incarnations = {ArchivePolicy.NONE, ArchivePolicy.ALL, ArchivePolicy.NONE, ArchivePolicy.ALL};
        for (ArchivePolicy policy : incarnations) {
            Worker caller = join("caller", ArchiveSettings.DEFAULTS.withPolicy(policy));
            caller.call(request(bytes(caller, 5000, 1))).close();
            caller.close();
        }
        server.close();
        List<Kept> kept = ArchivedRecords.of(workers, "caller", JournalQueue.REQUESTS);
        assertThat(kept.get(0).found().omission()).contains(Omission.NOT_KEPT);
        assertThat(kept.get(1).bytes()).isEqualTo(expected(5000, 1));
        assertThat(kept.get(2).found().omission()).contains(Omission.NOT_KEPT);
        assertThat(kept.get(3).bytes()).isEqualTo(expected(5000, 1));
    }

    @Test
    void staysWithinItsQuota() throws IOException {
        echo();
        Worker server = join("server", ArchiveSettings.NONE);
        Worker caller = join("caller", ALL.withTotalBytes(1 << 20));
        for (int i = 0; i < 20; i++) {
            Tensor sent = bytes(caller, 100_000, i);
            caller.call(request(sent)).close();
            sent.storage().release();
        }
        caller.close();
        server.close();
        List<Kept> kept = ArchivedRecords.of(workers, "caller", JournalQueue.REQUESTS);
        assertThat(kept.get(0).bytes()).isEqualTo(expected(100_000, 0));
        assertThat(kept.get(19).found().omission()).contains(Omission.QUOTA);
        assertThat(caller.archiveStatus().usedBytes()).isBetween(900_000L, (long) (1 << 20));
    }

    /** Calls whose records fill a file of the queue with about ten. */
    private List<Kept> callThroughManyFiles(ArchiveSettings archive) throws IOException {
        workers.handle(handlers, "0x142", (message, outbox) -> outbox.respond(ByteBuffer.allocate(0)));
        Worker server = join("server", ArchiveSettings.NONE);
        Worker caller = workers.join(
                "caller",
                workers.registry(),
                Workers.SETTINGS.toBuilder()
                        .tensors(TENSORS)
                        .archive(archive)
                        .journal(Workers.SETTINGS.journal().withFileBytes(1 << 20))
                        .build());
        ByteBuffer payload = ByteBuffer.allocate(100_000);
        for (int i = 0; i < 40; i++) {
            Tensor sent = bytes(caller, 90_000, i);
            caller.call(Request.raw("server", MessageType.userRequest(0x42), payload, List.of(sent)))
                    .close();
            sent.storage().release();
            Waits.until(
                    "what was sent is archived", () -> caller.archiveStatus().waitingStorages() == 0);
        }
        caller.close();
        server.close();
        return ArchivedRecords.of(workers, "caller", JournalQueue.REQUESTS);
    }

    @Test
    void keepsAFileForEachFileOfTheQueue() throws IOException {
        List<Kept> kept = callThroughManyFiles(ALL);
        for (int i = 0; i < kept.size(); i++) {
            assertThat(kept.get(i).bytes()).as("call %d", i).isEqualTo(expected(90_000, i));
        }
        assertThat(kept).hasSize(40);
        try (ArchiveReader reader =
                ArchiveReader.open(ArchivedRecords.workerPath(workers, "caller"), workers.host.files())) {
            assertThat(reader.fileNames(JournalQueue.REQUESTS)).hasSizeGreaterThan(2);
        }
    }

    @Test
    void takesTheOldestFilesAwayForItsQuota() throws IOException {
        List<Kept> kept = callThroughManyFiles(ALL.withTotalBytes(3 << 19));
        assertThat(kept.get(0).found().omission()).contains(Omission.REMOVED);
        assertThat(kept.get(0).found().describe()).contains("archive.total-bytes");
        assertThat(kept.get(39).bytes()).isEqualTo(expected(90_000, 39));
        long bytes = kept.stream().mapToLong(one -> one.bytes().length).sum();
        assertThat(bytes).isLessThan(3 << 19);
    }

    @Test
    void dropsAndCountsWhatItDoesNotKeepUpWith() throws IOException {
        echo();
        Worker server = join("server", ArchiveSettings.NONE);
        HeldThreads held = new HeldThreads("-archive");
        Worker caller = heldCaller(held, ALL.withWaitingBytes(1));
        int calls = 100;
        for (int i = 0; i < calls; i++) {
            if (i == calls / 2) {
                assertThat(caller.archiveStatus().waitingStorages())
                        .as("behind the first")
                        .isEqualTo(i);
                held.release(); // from here on it keeps up or not
            }
            Tensor sent = bytes(caller, 100_000, i);
            caller.call(request(sent)).close();
            sent.storage().release();
        }
        caller.close();
        server.close();
        ArchiveStatus status = caller.archiveStatus();
        assertThat(status.dropped()).containsOnlyKeys(Omission.OVERFLOW);
        assertThat(status.archivedStorages() + status.droppedStorages()).isEqualTo(calls);
        List<Kept> kept = ArchivedRecords.of(workers, "caller", JournalQueue.REQUESTS);
        assertThat(kept).hasSize(calls);
        for (int i = 0; i < calls; i++) {
            ArchivedStorage found = kept.get(i).found();
            assertThat(found.isKept() || found.omission().equals(Optional.of(Omission.OVERFLOW)))
                    .as(found.describe())
                    .isTrue();
            if (found.isKept()) {
                assertThat(kept.get(i).bytes()).isEqualTo(expected(100_000, i));
            }
        }
        assertThat(kept).filteredOn(one -> one.found().isKept()).hasSize((int) status.archivedStorages());
    }

    @Test
    void holdsSendersBackWhenThatIsWanted() throws IOException {
        echo();
        Worker server = join("server", ALL.withWaitingBytes(1).withOverflow(ArchiveOverflow.WAIT));
        Worker caller = join("caller", ALL.withWaitingBytes(1).withOverflow(ArchiveOverflow.WAIT));
        int calls = 100;
        for (int i = 0; i < calls; i++) {
            Tensor sent = bytes(caller, 100_000, i);
            caller.call(request(sent)).close();
            sent.storage().release();
        }
        caller.close();
        server.close();
        assertThat(caller.archiveStatus().droppedStorages()).isZero();
        for (String name : List.of("caller", "server")) {
            List<Kept> kept = ArchivedRecords.of(
                    workers, name, name.equals("caller") ? JournalQueue.REQUESTS : JournalQueue.RESPONSES);
            assertThat(kept).hasSize(calls);
            for (int i = 0; i < calls; i++) {
                assertThat(kept.get(i).bytes()).isEqualTo(expected(100_000, i));
            }
        }
    }

    @Test
    void refusesInsteadOfWaitingWhenTheSenderMustNotWait() throws IOException {
        echo();
        join("server", ArchiveSettings.NONE);
        HeldThreads held = new HeldThreads("-archive");
        Worker caller = heldCaller(held, ALL.withWaitingBytes(1).withOverflow(ArchiveOverflow.WAIT));
        Tensor sent = bytes(caller, 100_000, 1);
        caller.call(request(sent)).close();
        assertThatThrownBy(() -> caller.call(request(sent)))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.BACK_PRESSURE))
                .hasMessageContaining("wait to be archived");
        held.release();
        Waits.until("room in the archive", () -> caller.archiveStatus().waitingBytes() == 0);
        caller.call(request(sent)).close();
        caller.close();
    }

    @Test
    void givesItsRegionsBackOnceTheyAreCopied() throws IOException {
        workers.handle(handlers, "0x142", (message, outbox) -> outbox.respond(ByteBuffer.allocate(0)));
        join("server", ArchiveSettings.NONE);
        Worker caller = workers.join(
                "caller",
                workers.registry(),
                Workers.SETTINGS.toBuilder()
                        .tensors(new TensorConfig(2 << 20, 4 << 20, 4096, 64 << 10))
                        .archive(ALL)
                        .build());
        int calls = 12; // of a megabyte, through 4
        for (int i = 0; i < calls; i++) {
            Tensor sent = bytes(caller, 1 << 20, i);
            caller.call(request(sent)).close();
            sent.storage().release();
            Waits.until("it is archived", () -> caller.archiveStatus().waitingStorages() == 0);
        }
        assertThat(caller.archiveStatus().archivedStorages()).isEqualTo(calls);
        assertThat(caller.archiveStatus().dropped()).isEmpty();
    }

    @Test
    void givesItsRegionsUpWhenThereIsNoOtherMemory() throws IOException {
        echo();
        join("server", ArchiveSettings.NONE);
        HeldThreads held = new HeldThreads("-archive");
        Worker caller = heldCaller(held, ALL);
        int calls = 200; // of a megabyte, through 64
        for (int i = 0; i < calls; i++) {
            Tensor sent = bytes(caller, 1 << 20, i);
            caller.call(request(sent)).close();
            sent.storage().release();
        }
        held.release();
        caller.close();
        ArchiveStatus status = caller.archiveStatus();
        assertThat(status.dropped()).containsOnlyKeys(Omission.OVERFLOW);
        assertThat(status.archivedStorages()).isPositive();
        assertThat(status.archivedStorages() + status.droppedStorages()).isEqualTo(calls);
        for (Kept kept : ArchivedRecords.of(workers, "caller", JournalQueue.REQUESTS)) {
            assertThat(kept.found().isKept() || kept.found().omission().equals(Optional.of(Omission.OVERFLOW)))
                    .as(kept.found().describe())
                    .isTrue();
        }
    }

    /** A caller whose archive does nothing until the threads are released, and that is refused instead of waiting. */
    private Worker heldCaller(HeldThreads held, ArchiveSettings archive) throws IOException {
        return workers.join(
                "caller",
                workers.registry(),
                Workers.SETTINGS.toBuilder()
                        .tensors(TENSORS)
                        .archive(archive)
                        .limits(new FlowLimits(1000, 1 << 30, 1000, Overflow.REFUSE))
                        .build(),
                held);
    }
}
