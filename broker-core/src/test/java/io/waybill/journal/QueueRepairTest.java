package io.waybill.journal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.wire.MessageBuffer;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
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
    void makesADamagedTableAnew() throws IOException {
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
}
