package io.waybill.journal.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.journal.JournalQueue;
import io.waybill.journal.LockingProcess;
import io.waybill.journal.Roll;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.format.Frame;
import io.waybill.journal.format.QueueBuilder;
import io.waybill.journal.format.QueueStructure;
import io.waybill.wire.MessageBuffer;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import net.openhft.chronicle.queue.impl.single.SingleChronicleQueue;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A reader beside files that are not ready, as a full disk or a writer that was stopped leaves them. Chronicle would wait ten seconds at
 * each look: there are more looks than the time limit has room for.
 */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class UnreadyFileTest {

    private static final int RECORDS = 500;
    private static final int LOOKS = 10;

    @TempDir
    Path worker;

    private final MessageBuffer buffer = new MessageBuffer();
    private Path directory;
    private int today;

    @BeforeEach
    void write() {
        today = (int) (System.currentTimeMillis() / Duration.ofDays(1).toMillis());
        directory = JournalQueue.REQUESTS.in(worker);
        WrittenQueue.open(worker, JournalQueue.REQUESTS).requests(0, RECORDS).close();
    }

    private Path file(int day) {
        return directory.resolve(Roll.DAILY.fileName(today + day));
    }

    /** What Chronicle does when it opens a queue for writing. */
    private void list() {
        try (SingleChronicleQueue queue =
                QueueBuilder.of(directory, WrittenQueue.settings()).build()) {
            queue.refreshDirectoryListing();
        }
    }

    private WrittenQueue openOn(int day) throws IOException {
        return WrittenQueue.openAt(
                directory,
                WrittenQueue.settings(),
                Duration.ofDays(today + day).plusHours(1).toNanos());
    }

    private int readOn(JournalTail tail) {
        int records = 0;
        Poll poll = tail.poll(buffer, JournalTail.ANY_RECEIVER);
        while (poll != Poll.NONE) {
            assertThat(poll).isEqualTo(Poll.RECORD);
            records++;
            poll = tail.poll(buffer, JournalTail.ANY_RECEIVER);
        }
        return records;
    }

    private JournalTail open() {
        return JournalTail.open(directory, WrittenQueue.settings());
    }

    @Test
    void readsToTheEndBesideAnEmptyFile() throws IOException {
        Files.createFile(file(1));
        list();
        try (JournalTail tail = open()) {
            assertThat(readOn(tail)).isEqualTo(RECORDS);
            for (int i = 0; i < LOOKS; i++) {
                assertThat(readOn(tail)).isZero();
                tail.moveToEnd();
                assertThat(readOn(tail)).isZero();
            }
            openOn(1).requests(RECORDS, RECORDS + 10).close();
            assertThat(readOn(tail)).isEqualTo(10);
        }
    }

    @Test
    void refusesAQueueInWhichAnEmptyFileLiesBeforeOthers() throws IOException {
        Files.createFile(file(-1));
        list();
        for (int i = 0; i < LOOKS; i++) {
            assertThatThrownBy(this::open).hasMessageContaining("it is empty, and newer ones follow");
        }
    }

    @Test
    void takesAFileForBegunThatItsWriterHasNotListed() throws IOException {
        try (RandomAccessFile begun = new RandomAccessFile(file(1).toFile(), "rw")) {
            begun.setLength(1 << 20);
            try (JournalTail tail = open()) {
                assertThat(readOn(tail)).isEqualTo(RECORDS);
                assertThat(readOn(tail)).isZero();
            }
        }
    }

    @Test
    void takesAFileForBegunThatIsListedBeforeItsHeaderIsPublished() throws IOException {
        Path aside = worker.resolve("aside");
        WrittenQueue.openAt(
                        aside,
                        WrittenQueue.settings(),
                        Duration.ofDays(today + 1).toNanos())
                .close();
        Files.copy(aside.resolve(file(1).getFileName()), file(1));
        try (RandomAccessFile begun = new RandomAccessFile(file(1).toFile(), "rw")) {
            byte[] header = new byte[Frame.LENGTH];
            begun.readFully(header);
            begun.seek(0);
            begun.write(new byte[Frame.LENGTH]);
            list(); // as Chronicle does before it publishes the header
            try (JournalTail tail = open();
                    JournalTail atEnd = open()) {
                atEnd.moveToEnd();
                assertThat(readOn(tail)).isEqualTo(RECORDS);
                for (int i = 0; i < LOOKS; i++) {
                    assertThat(readOn(tail)).isZero();
                    assertThat(readOn(atEnd)).isZero();
                    open().close();
                }
                begun.seek(0);
                begun.write(header);
                assertThat(readOn(tail)).isZero();
                openOn(1).requests(RECORDS, RECORDS + 10).close();
                assertThat(readOn(tail)).isEqualTo(10);
                assertThat(readOn(atEnd)).isEqualTo(10);
            }
        }
    }

    @Test
    void refusesAQueueWithAFileThatLostItsHeader() throws IOException {
        openOn(1).requests(RECORDS, RECORDS + 10).close();
        for (int day : new int[] {1, 0}) { // the newest, and one before it
            byte[] header = new byte[Frame.LENGTH];
            try (RandomAccessFile file = new RandomAccessFile(file(day).toFile(), "rw")) {
                file.readFully(header);
                file.seek(0);
                file.write(new byte[Frame.LENGTH]);
                assertThatThrownBy(this::open).hasMessageContaining("no header of a queue's file");
                file.seek(0);
                file.write(header);
            }
        }
        try (JournalTail tail = open()) {
            assertThat(readOn(tail)).isEqualTo(RECORDS + 10);
        }
    }

    @Test
    void doesNotWaitForATableThatIsLocked() throws IOException {
        try (LockingProcess writer =
                LockingProcess.start(directory.resolve(QueueStructure.TABLE), LockingProcess.Kind.ALONE)) {
            assertThat(writer).isNotNull();
            for (int i = 0; i < LOOKS; i++) {
                assertThatThrownBy(this::open).hasMessageContaining("another process has locked it");
            }
        }
    }

    @Test
    void doesNotWaitForATableThatWasCut() throws IOException {
        try (RandomAccessFile table =
                new RandomAccessFile(directory.resolve(QueueStructure.TABLE).toFile(), "rw")) {
            table.setLength(1000);
        }
        for (int i = 0; i < 8 * LOOKS; i++) {
            assertThatThrownBy(this::open).hasMessageContaining("this one 1000");
        }
    }
}
