package io.waybill.journal.append;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.journal.JournalFailedException;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.UnreservedDisk;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.format.ChronicleDocuments;
import io.waybill.journal.format.QueueStructure;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.journal.read.QueueReader;
import io.waybill.wire.MessageBuffer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Somebody else writes into the files of a queue that has a writer: its next append fails, publishes nothing, and names the file. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class DamagedUnderWriterTest {

    private static final int RECORDS = 100;

    @TempDir
    Path worker;

    private final MessageBuffer buffer = new MessageBuffer();
    private Path directory;
    private Journal journal;

    @BeforeEach
    void write() throws Exception {
        directory = JournalQueue.REQUESTS.in(worker);
        Files.createDirectories(directory);
        journal = JournalOpener.open(
                directory,
                WrittenQueue.settings(),
                WrittenQueue.HOST.clock(),
                UnreservedDisk.by(WrittenQueue::reserve));
        for (int i = 0; i < RECORDS; i++) {
            append(i);
        }
    }

    @AfterEach
    void close() {
        journal.close();
    }

    private long append(int counter) throws JournalFullException {
        byte[] payload = new byte[40];
        buffer.begin(MessageType.userRequest(0x42), MessageId.of(3, counter), 3, 4, payload.length, 0)
                .payload(payload, 0, payload.length);
        return journal.append(buffer, WrittenQueue.HOST.clock().wallNs());
    }

    private static void write(Path file, long at, ByteBuffer bytes) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.write(bytes, at);
        }
    }

    private long end() {
        return journal.writtenTo() + 3 & ~3L;
    }

    private int readable() throws IOException {
        int records = 0;
        try (QueueReader reader = QueueReader.open(directory, WrittenQueue.HOST.files(), WrittenQueue.settings())) {
            while (reader.next() == QueueReader.Step.RECORD) {
                records++;
            }
        }
        return records;
    }

    private void assertFails(Path file) throws IOException {
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(() -> append(RECORDS))
                    .isInstanceOf(JournalFailedException.class)
                    .hasMessageContaining(file.toString());
        }
        assertThat(readable()).isEqualTo(RECORDS);
    }

    @ParameterizedTest
    @ValueSource(ints = {64, 0x40000000 | 8, 0xc0000000, 3})
    void failsWhereAFrameThatIsNotItsOwnLiesAhead(int frame) throws IOException {
        writeFrame(frame);
        assertFails(journal.file());
    }

    /** As what a killed writer has begun. */
    @ParameterizedTest
    @ValueSource(ints = {0x80000000 | 64, 0x80000000})
    void writesOverAFrameThatWasNotFinished(int frame) throws Exception {
        writeFrame(frame);
        append(RECORDS);
        append(RECORDS + 1);
        assertThat(readable()).isEqualTo(RECORDS + 2);
    }

    private void writeFrame(int frame) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        write(journal.file(), end(), bytes.putInt(0, frame));
    }

    @Test
    void failsWhereGarbageLiesAhead() throws IOException {
        byte[] garbage = new byte[100_000];
        new Random(11).nextBytes(garbage);
        garbage[3] = 1; // a frame that is finished
        write(journal.file(), end(), ByteBuffer.wrap(garbage));
        assertFails(journal.file());
    }

    @Test
    void takesNoInterruptForDamage() throws Exception {
        journal.close();
        JournalSettings settings = WrittenQueue.settings().withFileBytes(1 << 20);
        journal = JournalOpener.open(
                directory, settings, WrittenQueue.HOST.clock(), UnreservedDisk.by(WrittenQueue::reserve));
        int more = 10_000;
        try {
            for (int i = 0; i < more; i++) {
                Thread.currentThread().interrupt();
                append(RECORDS + i);
            }
        } finally {
            Thread.interrupted();
        }
        assertThat(readable()).isEqualTo(RECORDS + more);
    }

    /** Half of all random bytes begin with a frame that is not finished. */
    @Test
    void acknowledgesNothingThatLiesInGarbage() throws Exception {
        byte[] garbage = new byte[100_000];
        Arrays.fill(garbage, (byte) 0x85);
        Arrays.fill(garbage, 1000, garbage.length, (byte) 0x15);
        write(journal.file(), end(), ByteBuffer.wrap(garbage));
        Throwable thrown = null;
        int acknowledged = 0;
        for (int i = 0; i < 20 && thrown == null; i++) {
            int counter = RECORDS + i;
            thrown = catchThrowable(() -> append(counter));
            acknowledged += thrown == null ? 1 : 0;
        }
        if (thrown != null) {
            assertThat(thrown)
                    .isInstanceOf(JournalFailedException.class)
                    .hasMessageContaining(journal.file().toString());
        }
        assertThat(readable()).isEqualTo(RECORDS + acknowledged);
        int tailed = 0;
        try (JournalTail tail = JournalTail.open(directory, WrittenQueue.settings())) {
            while (tail.poll(buffer, JournalTail.ANY_RECEIVER) == Poll.RECORD) {
                tailed++;
            }
        }
        assertThat(tailed).isEqualTo(RECORDS + acknowledged);
    }

    /** Chronicle publishes a record, and then finds no place for it in the index: the record is there, so its append returns. */
    @Test
    void returnsForARecordThatIsPublishedWhenItsDocumentCanNotBeEnded() throws Exception {
        ChronicleDocuments documents =
                ChronicleDocuments.of(WrittenQueue.settings().roll());
        long root = documents.rootPosition();
        long firstIndex = root + documents.listStart(ChronicleDocuments.ROOT, root).length + Long.BYTES;
        ByteBuffer nowhere = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        write(journal.file(), firstIndex, nowhere.putLong(0, 123));
        long sequence = -1;
        Throwable thrown = null;
        int acknowledged = 0;
        for (int i = 0; i <= documents.spacing() && thrown == null; i++) {
            try {
                sequence = append(RECORDS + i);
                acknowledged++;
            } catch (JournalFailedException e) {
                thrown = e;
            }
        }
        assertThat(thrown).as("the append behind the one that failed").isNotNull();
        assertThat(readable()).as("records that readers find").isEqualTo(RECORDS + acknowledged);
        assertThat(sequence).as("the sequence of the last one").isEqualTo(RECORDS + acknowledged - 1);
        assertThat(journal.damage())
                .as("why the worker stops")
                .contains(journal.file().toString());
    }

    @Test
    void failsWhenTheTableIsGarbage() throws IOException {
        byte[] garbage = new byte[4096];
        new Random(13).nextBytes(garbage);
        Path table = directory.resolve(QueueStructure.TABLE);
        write(table, 0, ByteBuffer.wrap(garbage));
        assertFails(table);
    }

    @Test
    void failsWhenALockInTheTableIsHeld() throws IOException {
        Path table = directory.resolve(QueueStructure.TABLE);
        for (int at = 0; at + 8 <= 2048; at += 8) {
            long value = ByteBuffer.wrap(Files.readAllBytes(table))
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .getLong(at);
            if (value == QueueStructure.LOCK_FREE) {
                write(
                        table,
                        at,
                        ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(0, 478259996888165029L));
            }
        }
        assertFails(table);
    }
}
