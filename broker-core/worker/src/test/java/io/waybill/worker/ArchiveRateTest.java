package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.FilePart;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.archive.ArchiveOverflow;
import io.waybill.archive.ArchiveSettings;
import io.waybill.archive.ArchiveStatus;
import io.waybill.archive.ArchivedStorage;
import io.waybill.archive.Omission;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.journal.JournalQueue;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.testing.core.Waits;
import io.waybill.worker.ArchivedRecords.Kept;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How much of what a worker sends its archive takes in a time. */
@Timeout(120)
class ArchiveRateTest {

    private static final int SIZE = 100_000;
    private static final int CALLS = 40;
    private static final int AT_ONCE = 10;
    /** A byte a second, and some storages at once. */
    private static final ArchiveSettings SLOW =
            ArchiveSettings.DEFAULTS.withBytesPerSecond(1).withWaitingBytes(AT_ONCE * SIZE);

    @TempDir
    private Path directory;

    private final Queue<FilePart> arrived = new ConcurrentLinkedQueue<>();
    private Workers workers;

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory);
        HandlerRegistry handlers = workers.registry();
        workers.handle(handlers, "0x142", (message, outbox) -> {
            message.tensors().get(0).storage().filePart().ifPresent(arrived::add);
            outbox.respond(ByteBuffer.allocate(0));
        });
        workers.join("server", handlers);
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private ArchiveStatus send(ArchiveSettings archive) throws IOException {
        Worker caller = join(archive);
        send(caller, CALLS, SIZE);
        caller.close();
        return caller.archiveStatus();
    }

    private Worker join(ArchiveSettings archive) throws IOException {
        return workers.join(
                "caller",
                workers.registry(),
                Workers.SETTINGS.toBuilder()
                        .tensors(new TensorConfig(8 << 20, 64 << 20, 4096, 64 << 10))
                        .archive(archive)
                        .build());
    }

    private static void send(Worker caller, int calls, int size) {
        for (int i = 0; i < calls; i++) {
            Storage storage = caller.buffers().allocate(size);
            Tensor tensor = Tensor.contiguous(DType.UINT8, new long[] {size}, storage);
            Request request =
                    Request.raw("server", MessageType.userRequest(0x42), ByteBuffer.allocate(0), List.of(tensor));
            caller.call(request).close();
            storage.release();
        }
    }

    @Test
    void takesNoMoreThanItMayAndNotesTheRest() throws IOException {
        ArchiveStatus status = send(SLOW);
        assertThat(status.archivedStorages()).as("archived at a byte a second").isEqualTo(AT_ONCE);
        assertThat(status.dropped()).containsExactlyEntriesOf(Map.of(Omission.RATE, CALLS - (long) AT_ONCE));
        List<Kept> kept = ArchivedRecords.of(workers, "caller", JournalQueue.REQUESTS);
        assertThat(kept).hasSize(CALLS);
        assertThat(kept.subList(0, AT_ONCE)).allMatch(one -> one.found().isKept());
        for (Kept other : kept.subList(AT_ONCE, CALLS)) {
            ArchivedStorage found = other.found();
            assertThat(found.omission()).as(found.describe()).isEqualTo(Optional.of(Omission.RATE));
            assertThat(found.describe()).contains("archive.bytes-per-second");
        }
        assertThat(ArchiveStatus.read(workers.home.path().resolve("workers/1-caller"), workers.host.files()))
                .hasValueSatisfying(stored -> assertThat(stored.dropped()).isEqualTo(status.dropped()));
    }

    /** What the archive took at once has left much memory free. Going through all of it would be slower than one piece that stays in the caches. */
    @Test
    void sendsWhatItDoesNotTakeThroughTheSameMemory() throws IOException {
        int size = 1 << 20;
        Worker caller = join(SLOW.withWaitingBytes(32L * size));
        send(caller, 32, size);
        Waits.until(
                "all that was taken is archived", () -> caller.archiveStatus().waitingStorages() == 0);
        arrived.clear();
        send(caller, 100, size);
        assertThat(caller.archiveStatus().dropped()).containsExactlyEntriesOf(Map.of(Omission.RATE, 100L));
        assertThat(arrived).hasSize(100);
        assertThat(Set.copyOf(arrived)).as("where 100 tensors of a stream were").hasSizeLessThanOrEqualTo(8);
    }

    @Test
    void takesAllWithoutALimit() throws IOException {
        assertThat(send(SLOW.withBytesPerSecond(0).withWaitingBytes(64 << 20)).droppedStorages())
                .isZero();
    }

    /** Where calls wait for the archive, all is wanted. */
    @Test
    void takesAllWhenCallsWaitForIt() throws IOException {
        assertThat(send(SLOW.withOverflow(ArchiveOverflow.WAIT)).droppedStorages())
                .isZero();
    }

    @Test
    void takesByDefaultWhatAProgramSendsNowAndThen() throws IOException {
        assertThat(send(ArchiveSettings.DEFAULTS).droppedStorages()).isZero();
    }
}
