package io.waybill.journal.append;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.journal.UnreservedDisk;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.LastRecord;
import io.waybill.journal.read.Poll;
import io.waybill.wire.MessageBuffer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Files that end when they have grown to their size, or when their hour is over. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class RollBySizeTest {

    private static final JournalSettings SETTINGS =
            new JournalSettings(Roll.MINUTELY, 1 << 20, 256 << 10, 1 << 20).withFileBytes(1 << 20);
    private static final long START_NS = Instant.parse("2026-11-20T09:10:20Z").toEpochMilli() * 1_000_000;
    private static final int PAYLOAD = 200 << 10;
    private static final int RECORDS_PER_FILE = 5;

    @TempDir
    Path directory;

    private final MessageBuffer buffer = new MessageBuffer();
    private final List<String> givenBack = new ArrayList<>();
    private long counter;

    private Journal open(long wallNs) throws JournalFullException {
        return JournalOpener.open(directory, SETTINGS, WrittenQueue.clockAt(wallNs), new Disk());
    }

    private final class Disk extends UnreservedDisk {
        @Override
        public void reserve(Path file, long offset, long length) throws IOException {
            if (!Files.exists(file)) {
                Files.createFile(file);
            }
        }

        @Override
        public void giveBack(Path file, long offset, long length) {
            givenBack.add(file.getFileName().toString());
        }
    }

    private void append(Journal journal, int records, long wallNs) throws JournalFullException {
        for (int i = 0; i < records; i++) {
            byte[] payload = new byte[PAYLOAD];
            journal.append(
                    buffer.begin(MessageType.NAMED_CALL, MessageId.of(3, counter++), 3, 4, PAYLOAD, 0)
                            .payload(payload, 0, PAYLOAD),
                    wallNs);
        }
    }

    private int read(JournalTail tail) {
        MessageBuffer read = new MessageBuffer();
        int records = 0;
        while (tail.poll(read, JournalTail.ANY_RECEIVER) == Poll.RECORD) {
            records++;
        }
        return records;
    }

    @Test
    void beginsANewFileWhenOneIsFullAndNamesItByTheNextMinute() throws JournalFullException {
        try (Journal journal = open(START_NS);
                JournalTail tail = JournalTail.open(directory, SETTINGS)) {
            append(journal, 3 * RECORDS_PER_FILE, START_NS);
            assertThat(WrittenQueue.rollFiles(directory))
                    .containsExactly("20261120-0910.cq4", "20261120-0911.cq4", "20261120-0912.cq4");
            assertThat(read(tail)).isEqualTo(3 * RECORDS_PER_FILE);
            long later = START_NS + Duration.ofMinutes(30).toNanos();
            append(journal, RECORDS_PER_FILE, later);
            assertThat(WrittenQueue.rollFiles(directory)).endsWith("20261120-0912.cq4", "20261120-0940.cq4");
            assertThat(read(tail)).isEqualTo(RECORDS_PER_FILE);
        }
    }

    @Test
    void writesOneFileAnHourWhenLittleIsWritten() throws JournalFullException {
        try (Journal journal = open(START_NS);
                JournalTail tail = JournalTail.open(directory, SETTINGS)) {
            for (int minute = 0; minute < 100; minute += 20) {
                append(journal, 1, START_NS + Duration.ofMinutes(minute).toNanos());
            }
            assertThat(WrittenQueue.rollFiles(directory)).containsExactly("20261120-0910.cq4", "20261120-1010.cq4");
            assertThat(read(tail)).isEqualTo(5);
        }
    }

    @Test
    void goesOnInItsLastFileWhenItIsOpenedAgainAndBehindItWhenThatIsFull() throws JournalFullException {
        try (Journal journal = open(START_NS)) {
            append(journal, 1, START_NS);
        }
        long later = START_NS + Duration.ofMinutes(3).toNanos();
        try (Journal journal = open(later)) {
            append(journal, RECORDS_PER_FILE - 1, later);
            assertThat(WrittenQueue.rollFiles(directory)).containsExactly("20261120-0910.cq4");
        }
        try (Journal journal = open(later)) {
            append(journal, 1, later);
            assertThat(WrittenQueue.rollFiles(directory)).containsExactly("20261120-0910.cq4", "20261120-0913.cq4");
        }
    }

    @Test
    void readersComeFarAfterAPauseOfYears() throws JournalFullException {
        try (Journal journal = open(START_NS)) {
            append(journal, 1, START_NS);
        }
        long muchLater = START_NS + Duration.ofDays(400).toNanos();
        try (Journal journal = open(muchLater);
                JournalTail atEnd = JournalTail.open(directory, SETTINGS);
                JournalTail all = JournalTail.open(directory, SETTINGS)) {
            atEnd.moveToEnd(); // of a file that has no record yet
            append(journal, 1, muchLater);
            assertThat(read(atEnd)).isEqualTo(1);
            assertThat(read(all)).isEqualTo(2);
        }
        assertThat(LastRecord.read(directory, SETTINGS).sequence()).isEqualTo(1);
    }

    @Test
    void givesBackWhatAFullFileHasNotUsed() throws JournalFullException {
        try (Journal journal = open(START_NS)) {
            append(journal, RECORDS_PER_FILE, START_NS);
            journal.topUp();
            assertThat(givenBack).isEmpty();
            append(journal, 1, START_NS);
            journal.topUp();
            assertThat(givenBack).containsExactly("20261120-0910.cq4");
        }
    }

    /** Reads so many records of three files, and goes on with another tail when the first file is removed. Returns how many that one missed. */
    private long lostBehind(int records) throws Exception {
        try (Journal journal = open(START_NS)) {
            append(journal, 3 * RECORDS_PER_FILE, START_NS);
        }
        long position;
        long sequenceOfFirst;
        try (JournalTail tail = JournalTail.open(directory, SETTINGS)) {
            for (int i = 0; i < records; i++) {
                assertThat(tail.poll(buffer, JournalTail.ANY_RECEIVER)).isEqualTo(Poll.RECORD);
            }
            position = tail.nextIndex();
            sequenceOfFirst = tail.sequenceOfFirst();
        }
        Files.delete(directory.resolve("20261120-0910.cq4"));
        try (JournalTail tail = JournalTail.open(directory, SETTINGS)) {
            assertThat(tail.moveTo(position, sequenceOfFirst)).isTrue();
            assertThat(read(tail)).isEqualTo(2 * RECORDS_PER_FILE);
            return tail.lost();
        }
    }

    @Test
    void reportsHowManyRecordsWereRemovedBehindAPlaceThatWasWrittenDown() throws Exception {
        assertThat(lostBehind(2)).isEqualTo(RECORDS_PER_FILE - 2);
    }

    @Test
    void missesNothingWhenAllThatWasRemovedHadBeenRead() throws Exception {
        assertThat(lostBehind(RECORDS_PER_FILE)).isZero();
    }
}
