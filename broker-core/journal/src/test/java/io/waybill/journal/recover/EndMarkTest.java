package io.waybill.journal.recover;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.host.Boots;
import io.waybill.host.Host;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.journal.UnreservedDisk;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.append.Journal;
import io.waybill.journal.append.JournalOpener;
import io.waybill.journal.format.Frame;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.wire.MessageBuffer;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A tail goes on to the next file only behind the mark at the end of the one before: a recovered queue has all of them. */
@Timeout(120)
class EndMarkTest {

    private static final JournalSettings SETTINGS =
            new JournalSettings(Roll.MINUTELY, 1 << 20, 64 << 10, 1 << 20).withFileBytes(1 << 20);
    private static final int RECORDS = 120;
    private static final int PAYLOAD_BYTES = 30_000;
    private static final int WORKER = WrittenQueue.WORKER;

    @TempDir
    private Path directory;

    private Path queue;

    @BeforeEach
    void write() throws Exception {
        queue = directory.resolve("requests");
        try (WrittenQueue written = WrittenQueue.open(queue, SETTINGS)) {
            for (int i = 0; i < RECORDS; i++) {
                written.append(record(i));
            }
        }
        BootMark mark = new BootMark(in("first").processes().self().bootId(), 0, 0);
        mark.write(queue, WrittenQueue.HOST.files());
        assertThat(files()).hasSizeGreaterThan(3);
    }

    private static MessageBuffer record(int number) {
        byte[] payload = new byte[PAYLOAD_BYTES];
        return new MessageBuffer()
                .begin(
                        MessageType.NAMED_CALL,
                        MessageId.of(WORKER, number),
                        WORKER,
                        WrittenQueue.PEER,
                        payload.length,
                        0)
                .payload(payload, 0, payload.length);
    }

    private static Host in(String boot) {
        return Boots.in(WrittenQueue.HOST, boot);
    }

    private List<Path> files() {
        return WrittenQueue.rollFiles(queue).stream().map(queue::resolve).toList();
    }

    @Test
    void areWrittenAgainAfterAPowerCutThatTookThem() throws Exception {
        List<Path> files = files();
        for (Path file : files.subList(0, files.size() - 1)) {
            long end = endOfRecords(file);
            try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
                open.seek(end);
                assertThat(open.readInt()).as("the mark at the end of %s", file).isEqualTo(0x000000c0); // little endian
                open.seek(end);
                open.writeLong(0);
            }
        }
        assertIsReadToTheEnd("second");
    }

    @Test
    void areInTheFilesThatAreRewrittenAfterAFailedSync() throws Exception {
        QueueBeginning.failed(queue, WrittenQueue.HOST.files());
        assertIsReadToTheEnd("first");
    }

    private long endOfRecords(Path file) throws Exception {
        long end = 0;
        try (QueueReader reader = QueueReader.open(queue, WrittenQueue.HOST.files(), SETTINGS)) {
            while (reader.next() == Step.RECORD) {
                if (queue.resolve(reader.position().fileName()).equals(file)) {
                    end = Frame.behind(
                            reader.position().offset(), reader.record().buffer().length());
                }
            }
        }
        return end;
    }

    private void assertIsReadToTheEnd(String boot) throws Exception {
        QueueBeginning beginning = QueueBeginning.find(
                queue, SETTINGS, in(boot), UnreservedDisk.by(WrittenQueue::reserve), 2, -1, QueueEvidence.NONE);
        try (Journal journal = JournalOpener.open(
                queue, SETTINGS, WrittenQueue.HOST.clock(), UnreservedDisk.by(WrittenQueue::reserve), beginning)) {
            journal.append(record(RECORDS), WrittenQueue.HOST.clock().wallNs());
        }
        try (JournalTail tail = JournalTail.open(queue, SETTINGS)) {
            MessageBuffer read = new MessageBuffer();
            int found = 0;
            while (tail.poll(read, JournalTail.ANY_RECEIVER) == Poll.RECORD) {
                found++;
            }
            assertThat(found)
                    .as(
                            "records that a tail reads from the first one on, with one that was appended since, in %s",
                            files())
                    .isEqualTo(RECORDS + 1);
        }
    }
}
