package io.waybill.journal.append;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.host.SafeFiles;
import io.waybill.journal.DiskSpace;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.check.StructureCheck;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.upkeep.FileSpace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The space that a queue reserves: little at first, more with the rate, little after a rest, and none after its end. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class ReserveTest {

    private static final JournalSettings SETTINGS = JournalSettings.defaults();
    private static final int PAYLOAD_BYTES = 1_000;
    private static final long MIB = 1 << 20;

    @TempDir
    Path worker;

    private final SafeFiles files = WrittenQueue.HOST.files();
    private final MessageBuffer record = new MessageBuffer();
    private final Counted disk = new Counted(new FileSpace(files));
    private Path directory;
    private int appended;

    /** A disk that notes up to where it is reserved, without what was given back. */
    private static final class Counted implements DiskSpace {
        private final DiskSpace disk;
        private long reservedTo;
        private long fullAt = Long.MAX_VALUE; // position in the file behind which it has no room

        Counted(DiskSpace disk) {
            this.disk = disk;
        }

        @Override
        public void reserve(Path file, long offset, long length) throws IOException {
            if (offset + length > fullAt) {
                throw new IOException("no room behind " + fullAt);
            }
            disk.reserve(file, offset, length);
            if (file.toString().endsWith(".cq4")) {
                assertThat(offset).as("no gap in what is reserved").isLessThanOrEqualTo(reservedTo);
                reservedTo = Math.max(reservedTo, offset + length);
            }
        }

        @Override
        public void giveBack(Path file, long offset, long length) {
            disk.giveBack(file, offset, length);
            reservedTo = Math.min(reservedTo, offset);
        }

        @Override
        public void remove(Path file) throws IOException {
            disk.remove(file);
        }

        @Override
        public void giveBackZeros(Path file, long offset, long length) {
            disk.giveBackZeros(file, offset, length);
        }
    }

    @BeforeEach
    void makeDirectory() throws IOException {
        directory = Files.createDirectory(JournalQueue.REQUESTS.in(worker));
    }

    private Journal open() throws JournalFullException {
        return JournalOpener.open(directory, SETTINGS, WrittenQueue.HOST.clock(), disk);
    }

    private void append(Journal journal, int records) throws JournalFullException {
        byte[] payload = new byte[PAYLOAD_BYTES];
        for (int i = 0; i < records; i++) {
            journal.append(
                    record.begin(MessageType.NAMED_CALL, MessageId.of(1, ++appended), 1, 2, payload.length, 0)
                            .payload(payload, 0, payload.length),
                    WrittenQueue.HOST.clock().wallNs());
            assertThat(disk.reservedTo).as("reserved before it is written").isGreaterThan(journal.writtenTo());
        }
    }

    private long allocated(Journal journal) throws IOException {
        return files.allocatedBytes(journal.file());
    }

    private void assertAllReadable() {
        assertThat(StructureCheck.firstDamage(directory, SETTINGS, files)).isEmpty();
        int read = 0;
        try (JournalTail tail = JournalTail.open(directory, SETTINGS)) {
            while (tail.poll(new MessageBuffer(), JournalTail.ANY_RECEIVER) == Poll.RECORD) {
                read++;
            }
        }
        assertThat(read).isEqualTo(appended);
    }

    @Test
    void isSmallAtFirst() throws Exception {
        try (Journal journal = open()) {
            journal.topUp();
            assertThat(allocated(journal)).isBetween(MIB, 7 * MIB / 4);
            assertThat(journal.isComfortable()).isTrue();
        }
    }

    @Test
    void takesWhatADiskHasThatIsAlmostFull() throws Exception {
        try (Journal journal = open()) {
            append(journal, 1_000);
            journal.topUp();
            append(journal, 10_000);
            journal.topUp();
            disk.fullAt = disk.reservedTo + 4 * MIB;
            while (disk.fullAt - journal.writtenTo() > 2 * MIB) {
                append(journal, 100);
                journal.topUp();
                assertThat(journal.isComfortable())
                        .as("calls are made with %d bytes left", disk.fullAt - journal.writtenTo())
                        .isTrue();
            }
            assertThatThrownBy(() -> {
                        append(journal, 1_500);
                        journal.topUp();
                    })
                    .isInstanceOf(JournalFullException.class);
            assertThat(journal.isComfortable()).isFalse();
        }
        assertAllReadable();
    }

    @Test
    void growsWithTheRateUpToTheSetting() throws Exception {
        try (Journal journal = open()) {
            append(journal, 1_000);
            journal.topUp(); // a megabyte between two looks
            assertThat(allocated(journal)).isGreaterThan(32 * MIB);
            append(journal, 10_000);
            journal.topUp();
            assertThat(allocated(journal) - journal.writtenTo()).isBetween(64 * MIB, 98 * MIB);
        }
        assertAllReadable();
    }

    @Test
    void isSmallAfterARestAndGrowsAgain() throws Exception {
        try (Journal journal = open()) {
            append(journal, 3_000);
            journal.topUp();
            assertThat(allocated(journal)).isGreaterThan(32 * MIB);

            journal.shrinkReserve();
            assertThat(allocated(journal) - journal.writtenTo()).isLessThan(2 * MIB);

            append(journal, 10_000);
        }
        assertAllReadable();
    }

    @Test
    void goesBackAtTheEndAndTheNextWriterContinues() throws Exception {
        for (int records : new int[] {0, 1, 15, 16, 17, 2_000}) { // around those that are indexed
            Path file;
            try (Journal journal = open()) {
                append(journal, records);
                journal.topUp();
                file = journal.file();
                journal.end();
            }
            long needed = (long) appended * (PAYLOAD_BYTES + 200) + (32 << 10);
            assertThat(files.allocatedBytes(file))
                    .as("after %d records", appended)
                    .isLessThan(needed);
            assertAllReadable();
        }
    }

    @Test
    void ofAQueueWithoutARecordIsAlmostNothing() throws Exception {
        Path file;
        try (Journal journal = open()) {
            file = journal.file();
            journal.end();
        }
        assertThat(files.allocatedBytes(file)).isLessThanOrEqualTo(12 << 10);
        assertThat(files.allocatedBytes(directory.resolve("metadata.cq4t"))).isLessThanOrEqualTo(8 << 10);
        assertAllReadable();
    }

    @Test
    void takesNoRecordAfterItsEnd() throws Exception {
        try (Journal journal = open()) {
            append(journal, 1);
            journal.end();
            try {
                append(journal, 1);
                throw new AssertionError("appended");
            } catch (io.waybill.journal.JournalFailedException e) {
                assertThat(e).hasMessageContaining("closed");
                appended--;
            }
        }
        assertAllReadable();
    }
}
