package io.waybill.journal.append;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.journal.JournalQueue;
import io.waybill.journal.LockingProcess;
import io.waybill.journal.Roll;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.format.QueueStructure;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.wire.MessageBuffer;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class QueueRepairTest {

    private static final int RECORDS = 500;

    @TempDir
    Path worker;

    private Path directory;

    @BeforeEach
    void write() {
        directory = JournalQueue.REQUESTS.in(worker);
        WrittenQueue.open(worker, JournalQueue.REQUESTS).requests(0, RECORDS).close();
    }

    private int readAll() {
        int records = 0;
        MessageBuffer buffer = new MessageBuffer();
        try (JournalTail tail = JournalTail.open(directory, WrittenQueue.settings())) {
            Poll poll = tail.poll(buffer, JournalTail.ANY_RECEIVER);
            while (poll != Poll.NONE) {
                assertThat(poll).isEqualTo(Poll.RECORD);
                records++;
                poll = tail.poll(buffer, JournalTail.ANY_RECEIVER);
            }
        }
        return records;
    }

    private void overwrite(Path file, long at, byte[] bytes) throws IOException {
        try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
            open.seek(at);
            open.write(bytes);
        }
    }

    @Test
    void rebuildsADamagedTable() throws IOException {
        for (int at : new int[] {0, 8, 60, 160, 185}) {
            overwrite(directory.resolve(QueueStructure.TABLE), at, new byte[] {0x55, 0x55, 0x55, 0x55});
            assertThatThrownBy(() -> JournalTail.open(directory, WrittenQueue.settings()))
                    .as("a reader, damage at " + at)
                    .hasMessageContaining("can't be read");
            WrittenQueue.open(worker, JournalQueue.REQUESTS).close();
            assertThat(readAll()).isEqualTo(RECORDS);
        }
    }

    @Test
    void goesOnWhenACrashLeftAFileWithoutAHeader() throws IOException {
        Path begun = directory.resolve(Roll.DAILY.fileName(30_000));
        try (RandomAccessFile file = new RandomAccessFile(begun.toFile(), "rw")) {
            file.setLength(1 << 20);
        }
        WrittenQueue.open(worker, JournalQueue.REQUESTS)
                .requests(RECORDS, RECORDS + 10)
                .close();
        assertThat(readAll()).isEqualTo(RECORDS + 10);
    }

    @Test
    void leavesAFileAloneThatLostItsHeaderAndHoldsRecords() throws IOException {
        Path file;
        try (var files = Files.list(directory)) {
            file = files.filter(path -> path.toString().endsWith(".cq4"))
                    .findFirst()
                    .orElseThrow();
        }
        overwrite(file, 0, new byte[QueueStructure.HEAD_BYTES]);
        assertThatThrownBy(() -> WrittenQueue.open(worker, JournalQueue.REQUESTS))
                .hasMessageContaining("no header of a queue's file");
        assertThat(file).exists();
    }

    private static int today() {
        return (int) (System.currentTimeMillis() / Duration.ofDays(1).toMillis());
    }

    private void goesOnAndReads(int before, int after) {
        WrittenQueue.open(worker, JournalQueue.REQUESTS).requests(before, after).close();
        assertThat(readAll()).isEqualTo(after);
    }

    @Test
    void goesOnBesideFilesThatAFullDiskLeftEmpty() throws IOException {
        int records = RECORDS;
        for (int day : new int[] {-1, 1, -2, 2}) {
            Path empty = Files.createFile(directory.resolve(Roll.DAILY.fileName(today() + day)));
            goesOnAndReads(records, records + 10);
            assertThat(empty).as("day " + day).doesNotExist();
            records += 10;
        }
    }

    @Test
    void beginsWithAnEmptyFileInItsPlace() throws IOException {
        for (int i = 0; i < 6; i++) {
            Path begun = worker.resolve("begun" + i);
            Files.createDirectories(begun);
            for (int day = 0; day < 2; day++) {
                Files.createFile(begun.resolve(Roll.DAILY.fileName(today() + day)));
            }
            WrittenQueue.open(begun, WrittenQueue.settings()).requests(0, 1).close();
            assertThat(JournalTail.exists(begun)).isTrue();
        }
    }

    @Test
    void restartsAFileWhoseHeaderWasNeverPublished() throws IOException {
        Path begun = worker.resolve("begun");
        WrittenQueue.openAt(
                        begun,
                        WrittenQueue.settings(),
                        Duration.ofDays(today() + 1).toNanos())
                .close();
        String name = Roll.DAILY.fileName(today() + 1);
        for (byte[] header : new byte[][] {{0, 0, 0, 0}, {7, 1, 0, (byte) 0x80}}) {
            Files.copy(begun.resolve(name), directory.resolve(name), StandardCopyOption.REPLACE_EXISTING);
            overwrite(directory.resolve(name), 0, header);
            WrittenQueue.open(worker, JournalQueue.REQUESTS).close();
            assertThat(directory.resolve(name)).doesNotExist();
            assertThat(readAll()).isEqualTo(RECORDS);
        }
    }

    @Test
    void freesLocksOfAProcessWhoseIdIsUsedAgain() throws IOException {
        Path table = directory.resolve(QueueStructure.TABLE);
        for (int i = 0; i < 6; i++) {
            ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(table)).order(ByteOrder.LITTLE_ENDIAN);
            int at = new String(bytes.array(), StandardCharsets.ISO_8859_1).indexOf("chronicle.write.lock");
            while (bytes.getLong(at) != QueueStructure.LOCK_FREE) {
                at++;
            }
            ByteBuffer held = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
            overwrite(table, at, held.putLong(0, ProcessHandle.current().pid()).array());
            assertThat(QueueStructure.heldLocks(directory)).containsExactly((long) at);
            goesOnAndReads(RECORDS + i, RECORDS + i + 1);
        }
    }

    @Test
    void opensAlthoughAStoppedReaderHoldsTheTablesLock() throws IOException {
        for (int i = 0; i < 6; i++) {
            try (LockingProcess reader =
                    LockingProcess.start(directory.resolve(QueueStructure.TABLE), LockingProcess.Kind.SHARED)) {
                assertThat(reader).isNotNull();
                goesOnAndReads(RECORDS + i, RECORDS + i + 1);
            }
        }
    }
}
