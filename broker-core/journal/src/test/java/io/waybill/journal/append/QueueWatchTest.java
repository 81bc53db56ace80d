package io.waybill.journal.append;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.UnreservedDisk;
import io.waybill.journal.WrittenQueue;
import io.waybill.wire.MessageBuffer;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the watch of a queue finds without its writer: each of its checks alone, where no other one sees the damage. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class QueueWatchTest {

    private static final int RECORDS = 100;

    @TempDir
    Path worker;

    private Journal journal;
    private QueueWatch watch;
    private Written written;

    @BeforeEach
    void write() throws Exception {
        Path directory = JournalQueue.REQUESTS.in(worker);
        Files.createDirectories(directory);
        journal = JournalOpener.open(
                directory,
                WrittenQueue.settings(),
                WrittenQueue.HOST.clock(),
                UnreservedDisk.by(WrittenQueue::reserve));
        watch = QueueWatch.open(journal, WrittenQueue.HOST.files());
        MessageBuffer buffer = new MessageBuffer();
        byte[] payload = new byte[40];
        for (int i = 0; i < RECORDS; i++) {
            buffer.begin(MessageType.userRequest(0x42), MessageId.of(3, i), 3, 4, payload.length, 0)
                    .payload(payload, 0, payload.length);
            journal.append(buffer, WrittenQueue.HOST.clock().wallNs());
        }
        written = journal.written();
        assertThat(watch.look(written)).isEmpty();
        assertThat(watch.look(written)).isEmpty();
    }

    @AfterEach
    void close() {
        journal.close();
    }

    /** Its size is as before, and so is its header. */
    @Test
    void findsAFileThatWasCutBeforeItsLastRecordAndHasGrownAgain() throws Exception {
        long size = Files.size(written.file());
        try (FileChannel channel = FileChannel.open(written.file(), StandardOpenOption.WRITE)) {
            channel.truncate(written.start());
            channel.write(ByteBuffer.allocate(1), size - 1);
        }
        assertThat(watch.look(written))
                .isEqualTo(written.file() + " was cut or overwritten: record " + (RECORDS - 1) + " at "
                        + written.start() + " is not there any more");
    }

    /** Its size is as before, and so is its last record. */
    @Test
    void findsAFileWhoseHeaderWasOverwritten() throws Exception {
        try (FileChannel channel = FileChannel.open(written.file(), StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.allocate(8), 0);
        }
        assertThat(watch.look(written))
                .isEqualTo(written.file() + " has " + Files.size(written.file())
                        + " bytes and no header of a queue's file");
    }
}
