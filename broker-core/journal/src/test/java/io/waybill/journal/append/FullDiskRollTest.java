package io.waybill.journal.append;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.journal.UnreservedDisk;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.format.QueueStructure;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.wire.MessageBuffer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A disk that gets full when the queue rolls. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class FullDiskRollTest {

    private static final JournalSettings SETTINGS = new JournalSettings(Roll.DAILY, 8 << 20, 2 << 20, 1 << 20);
    private static final int SMALL = 100;
    private static final int LARGE = 1_500_000;

    @TempDir
    Path directory;

    private final MessageBuffer written = new MessageBuffer();
    private final MessageBuffer read = new MessageBuffer();
    private long maxBytes = Long.MAX_VALUE;
    private long counter;
    private Journal journal;
    private JournalTail tail;

    @BeforeEach
    void begin() throws JournalFullException {
        journal = JournalOpener.open(directory, SETTINGS, WrittenQueue.HOST.clock(), UnreservedDisk.by(this::reserve));
        append(0, SMALL);
        tail = JournalTail.open(directory, SETTINGS);
        assertThat(readOn()).isEqualTo(1);
    }

    @AfterEach
    void close() {
        tail.close();
        journal.close();
    }

    private void reserve(Path file, long offset, long length) throws IOException {
        if (!Files.exists(file)) {
            Files.createFile(file);
        }
        if (offset + length > maxBytes) {
            throw new IOException("no room for " + length);
        }
    }

    private void append(int day, int bytes) throws JournalFullException {
        byte[] payload = new byte[bytes];
        MessageBuffer record = written.begin(MessageType.NAMED_CALL, MessageId.of(3, counter), 3, 4, payload.length, 0)
                .payload(payload, 0, bytes);
        journal.append(
                record,
                WrittenQueue.HOST.clock().wallNs() + Duration.ofDays(day).toNanos());
        counter++;
    }

    private int readOn() {
        int records = 0;
        while (tail.poll(read, JournalTail.ANY_RECEIVER) == Poll.RECORD) {
            records++;
        }
        return records;
    }

    @Test
    void goesOnInItsFileWithoutRoomForANewOneAndBeginsThatAfterwards() throws JournalFullException {
        maxBytes = 1000;
        for (int i = 0; i < 10; i++) {
            append(1, SMALL);
            assertThat(readOn()).isEqualTo(1);
        }
        assertThatThrownBy(() -> append(1, LARGE)).isInstanceOf(JournalFullException.class);
        assertThat(readOn()).isZero();
        assertThat(WrittenQueue.rollFiles(directory)).hasSize(1);
        maxBytes = Long.MAX_VALUE;
        append(2, LARGE);
        assertThat(readOn()).isEqualTo(1);
        assertThat(WrittenQueue.rollFiles(directory)).hasSize(2);
    }

    @Test
    void readersGetPastADayOnWhichNothingFitted() throws JournalFullException {
        maxBytes = 2 * SETTINGS.roll().indexBytes(); // a file can be begun, and the record does not fit into it
        assertThatThrownBy(() -> append(1, LARGE)).isInstanceOf(JournalFullException.class);
        maxBytes = Long.MAX_VALUE;
        append(2, SMALL);
        assertThat(readOn()).isEqualTo(1);
        append(2, LARGE);
        assertThat(readOn()).isEqualTo(1);
        try (JournalTail other = JournalTail.open(directory, SETTINGS)) {
            assertThat(other.poll(read, JournalTail.ANY_RECEIVER)).isEqualTo(Poll.RECORD);
        }
    }

    @Test
    void refusesToBeginWithoutRoomForItsTable(@TempDir Path other) {
        maxBytes = 1000;
        assertThatThrownBy(() -> JournalOpener.open(
                        other, SETTINGS, WrittenQueue.HOST.clock(), UnreservedDisk.by(this::reserve)))
                .isInstanceOf(JournalFullException.class)
                .hasMessageContaining(QueueStructure.TABLE);
    }
}
