package io.waybill.journal.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.format.QueueStructure;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import net.openhft.chronicle.core.io.ClosedIllegalStateException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Where a tail stands. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class JournalTailTest {

    private static final long LAST_OF_THE_TABLE = Long.MAX_VALUE - 1;

    @TempDir
    Path worker;

    private final MessageBuffer buffer = new MessageBuffer();

    private WrittenQueue open() {
        return WrittenQueue.open(worker, JournalQueue.REQUESTS);
    }

    private JournalTail tail() {
        return JournalTail.open(JournalQueue.REQUESTS.in(worker), WrittenQueue.settings());
    }

    private static long request(long counter) {
        return MessageId.of(WrittenQueue.WORKER, counter);
    }

    private long nextId(JournalTail tail) {
        assertThat(tail.poll(buffer, JournalTail.ANY_RECEIVER)).isEqualTo(Poll.RECORD);
        return new RecordView(buffer).id();
    }

    @Test
    void readsFromTheFirstRecordOnWhenItWasAtTheEndOfAnEmptyQueue() {
        try (WrittenQueue queue = open();
                JournalTail tail = tail()) {
            tail.moveToEnd();
            tail.moveToEnd();
            queue.append(JournalQueue.REQUESTS, 7);
            queue.append(JournalQueue.REQUESTS, 8);

            assertThat(nextId(tail)).isEqualTo(7);
            assertThat(nextId(tail)).isEqualTo(8);
        }
    }

    @Test
    void knowsInPlaceWhetherARecordIsThere() {
        try (WrittenQueue queue = open();
                JournalTail tail = tail()) {
            assertThat(tail.isInPlace()).isFalse();
            assertThat(tail.mayHaveNext())
                    .as("a record, before it has read one")
                    .isTrue();
            queue.append(JournalQueue.REQUESTS, 7);
            assertThat(nextId(tail)).isEqualTo(7);

            assertThat(tail.isInPlace()).isTrue();
            assertThat(tail.mayHaveNext()).as("a record behind the last one").isFalse();
            queue.append(JournalQueue.REQUESTS, 8);
            assertThat(tail.mayHaveNext()).isTrue();
            assertThat(nextId(tail)).isEqualTo(8);
        }
    }

    @Test
    void readsOnBehindARecord() {
        try (WrittenQueue queue = open();
                JournalTail tail = tail()) {
            queue.requests(0, 3);
            assertThat(nextId(tail)).isEqualTo(request(0));
            long first = tail.lastIndex();

            tail.moveBehind(first + 1);

            assertThat(nextId(tail)).isEqualTo(request(2));
        }
    }

    /** Several blocks of the file, with the queue's own documents between records. */
    @Test
    void readsOnFromBlockToBlock() throws IOException {
        int count = 40_000; // the second index begins at record 32,768
        JournalSettings settings = new JournalSettings(Roll.MINUTELY, 1 << 20, 64 << 10, 1 << 20);
        Path directory = JournalQueue.REQUESTS.in(worker);
        try (WrittenQueue queue = WrittenQueue.openAt(directory, settings, 0).requests(0, count);
                JournalTail tail = JournalTail.open(directory, settings);
                JournalTail other = JournalTail.open(directory, settings)) {
            for (int i = 0; i < count; i++) {
                assertThat(nextId(tail)).isEqualTo(request(i));
                if (i % 1_000 == 0) {
                    assertThat(other.moveTo(tail.lastIndex())).isTrue();
                    assertThat(nextId(other))
                            .as("the record that Chronicle finds at the index of record %d", i)
                            .isEqualTo(request(i));
                    assertThat(tail.nextIndex()).isEqualTo(other.nextIndex());
                }
            }
            assertThat(tail.endPosition())
                    .as("more than three blocks were read")
                    .isGreaterThan(3 * settings.blockBytes());
            assertThat(tail.poll(buffer, JournalTail.ANY_RECEIVER)).isEqualTo(Poll.NONE);
            queue.requests(count, count + 1);
            assertThat(nextId(tail)).isEqualTo(request(count));
        }
    }

    @Test
    void leavesWhatOthersGetUnreadAndReadsItAfterAMove() {
        try (WrittenQueue queue = open();
                JournalTail tail = tail()) {
            for (int counter = 0; counter < 40; counter++) {
                queue.append(
                        MessageType.NAMED_CALL, request(counter), WrittenQueue.WORKER, WrittenQueue.PEER + counter % 4);
            }
            for (int counter = 2; counter < 40; counter += 4) {
                assertThat(tail.poll(buffer, WrittenQueue.PEER + 2)).isEqualTo(Poll.RECORD);
                assertThat(new RecordView(buffer).id()).isEqualTo(request(counter));
            }
            assertThat(tail.poll(buffer, WrittenQueue.PEER + 2))
                    .as("the record behind the last one is for another receiver")
                    .isEqualTo(Poll.SKIPPED);

            tail.moveTo(tail.lastIndex() - 38);

            assertThat(nextId(tail)).isEqualTo(request(1));
        }
    }

    /** The mapping is gone then: to read there would end the JVM. */
    @Test
    void readsNothingOnceItIsClosed() {
        try (WrittenQueue queue = open()) {
            queue.requests(0, 2);
            JournalTail closed = tail();
            try (JournalTail tail = closed) {
                assertThat(nextId(tail)).isEqualTo(request(0));
            }

            assertThatThrownBy(() -> closed.poll(buffer, JournalTail.ANY_RECEIVER))
                    .as("a poll of a tail that is closed")
                    .isInstanceOf(ClosedIllegalStateException.class);
        }
    }

    @Test
    void readsUpToALimitAndOnWhenItHasMoved() {
        try (WrittenQueue queue = open();
                JournalTail tail = tail()) {
            queue.requests(0, 4);
            assertThat(nextId(tail)).isEqualTo(request(0));
            tail.readBefore(tail.lastIndex() + 2);
            assertThat(nextId(tail)).isEqualTo(request(1));
            assertThat(tail.poll(buffer, JournalTail.ANY_RECEIVER)).isEqualTo(Poll.NONE);

            tail.readBefore(Long.MAX_VALUE);

            assertThat(nextId(tail)).isEqualTo(request(2));
            assertThat(nextId(tail)).isEqualTo(request(3));
        }
    }

    /** Chronicle would go to where it ends, gigabytes behind the file, and meet the fault there under its own locks. */
    @Test
    void endsAtARecordThatEndsBehindItsFile() throws IOException {
        try (WrittenQueue queue = open();
                JournalTail tail = tail()) {
            queue.requests(0, 3);
            assertThat(nextId(tail)).isEqualTo(request(0));
            ByteBuffer length = ByteBuffer.allocate(Integer.BYTES)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putInt(0, 0x3ffffff0);
            Path directory = JournalQueue.REQUESTS.in(worker);
            Path data = directory.resolve(WrittenQueue.rollFiles(directory).get(0));
            try (FileChannel file = FileChannel.open(data, StandardOpenOption.WRITE)) {
                file.write(length, (tail.endPosition() + 3) & ~3L);
            }

            assertThat(tail.poll(buffer, JournalTail.ANY_RECEIVER)).isEqualTo(Poll.DAMAGED);
            assertThat(tail.isFaulted()).as("nothing is read behind the file").isTrue();
            assertThat(tail.damage()).contains(", and its file at " + Files.size(data));
            assertThat(tail.poll(buffer, JournalTail.ANY_RECEIVER)).isEqualTo(Poll.NONE);
        }
    }

    @Test
    void staysWhereItIsWhenTheRecordIsNotThere() {
        try (WrittenQueue queue = open();
                JournalTail tail = tail()) {
            queue.requests(0, 2);
            assertThat(nextId(tail)).isEqualTo(request(0));
            long missing = tail.lastIndex() + 2;

            assertThatThrownBy(() -> tail.moveBehind(missing))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining(Long.toHexString(missing));

            assertThat(nextId(tail)).isEqualTo(request(1));
        }
    }

    @Test
    void waitsAMomentForAnotherThreadOfTheProcessThatOpensTheTable() throws Exception {
        try (WrittenQueue queue = open();
                FileChannel table = FileChannel.open(
                        JournalQueue.REQUESTS.in(worker).resolve(QueueStructure.TABLE), StandardOpenOption.READ)) {
            queue.append(JournalQueue.REQUESTS, 7);
            FileLock held = table.lock(LAST_OF_THE_TABLE, 1, true);
            Thread releaser = new Thread(() -> {
                LockSupport.parkNanos(10_000_000);
                closeQuietly(held);
            });
            releaser.start();
            try (JournalTail tail = tail()) {
                assertThat(nextId(tail)).isEqualTo(7);
            } finally {
                releaser.join();
            }
        }
    }

    private static void closeQuietly(FileLock lock) {
        try {
            lock.release();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}
