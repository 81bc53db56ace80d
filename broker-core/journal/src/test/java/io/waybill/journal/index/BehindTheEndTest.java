package io.waybill.journal.index;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.waybill.api.MessageId;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.format.FileWindow;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What lookups read of a file behind its last record: nothing, unless there is something. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class BehindTheEndTest {

    private static final int MESSAGES = 1500;
    private static final int RESERVED_BYTES = 16 << 20;
    /** What this thread has read so far, pages in memory included. */
    private static final Path THREAD_COUNTERS = Path.of("/proc/thread-self/io");

    private static final int LOOKUPS = 20;
    private static final long MAX_RECORD_BYTES = 192;
    /** Of a lookup with an index that is opened for it: a window of each queue, and RocksDB's files. */
    private static final long MAX_BYTES_PER_LOOKUP = 2 << 20;

    @TempDir
    Path home;

    private WorkerJournal journal;

    @BeforeEach
    void make() throws IOException {
        journal = new WorkerJournal(home);
        journal.write(0, MESSAGES);
    }

    @Test
    void isNotReadByLookupsHoweverMuchIsReserved() throws IOException {
        assumeThat(THREAD_COUNTERS).isReadable();
        journal.index();
        reserve();
        long before = bytesRead();
        for (int i = 0; i < LOOKUPS; i++) {
            try (JournalIndex index = journal.open()) {
                WorkerJournal.assertFinds(index, JournalQueue.REQUESTS, MessageId.of(WrittenQueue.WORKER, 7L * i));
                WorkerJournal.assertFinds(index, JournalQueue.RESPONSES, WrittenQueue.responseId(7L * i));
                assertThat(index.find(JournalQueue.REQUESTS, MessageId.of(77, 1)))
                        .isEmpty();
                assertThat(index.children(MessageId.of(WrittenQueue.WORKER, 7L * i), 10))
                        .isPresent();
            }
        }
        assertThat((bytesRead() - before) / LOOKUPS)
                .as("bytes that a lookup reads, of files with %d bytes of zeros behind the last record", RESERVED_BYTES)
                .isLessThan(MAX_BYTES_PER_LOOKUP);
    }

    @Test
    void isNotReadByTheBuilderHoweverMuchIsReserved() throws IOException {
        assumeThat(THREAD_COUNTERS).isReadable();
        reserve();
        long before = bytesRead();
        journal.index();
        assertThat(bytesRead() - before).isLessThan(RESERVED_BYTES);
    }

    /** Right after a fill, when the index is far behind: each lookup must not read what the index and memory lack. */
    @Test
    void isReadOnlyInPartByALookupOfWhatNeitherTheIndexNorMemoryHas() throws IOException {
        assumeThat(THREAD_COUNTERS).isReadable();
        long end = 20L * PassedRecords.BLOCK;
        journal.index();
        journal.write(MESSAGES, MESSAGES + end);
        try (JournalIndex index = journal.open(100)) {
            WorkerJournal.assertFinds(index, JournalQueue.REQUESTS, MessageId.of(WrittenQueue.WORKER, 0)); // passes all
            long before = bytesRead();
            int lookups = 0;
            for (long counter = MESSAGES; counter < MESSAGES + end; counter += end / LOOKUPS + 7) {
                WorkerJournal.assertFinds(index, JournalQueue.REQUESTS, MessageId.of(WrittenQueue.WORKER, counter));
                assertThat(index.find(JournalQueue.REQUESTS, MessageId.of(77, 1)))
                        .isEmpty();
                lookups++;
            }
            assertThat((bytesRead() - before) / lookups)
                    .as("bytes that are read to find a request, and a message that is not there, among 20 blocks")
                    .isLessThan(2L * PassedRecords.BLOCK * MAX_RECORD_BYTES + 2 * FileWindow.CAPACITY);
        }
    }

    @Test
    void isReadWhenRecordsLieBehindAHole() throws IOException {
        long first = MessageId.of(WrittenQueue.WORKER, MESSAGES - 100);
        RecordPosition from;
        RecordPosition to;
        try (JournalIndex index = journal.open()) {
            from = index.find(JournalQueue.REQUESTS, first).orElseThrow();
            to = index.find(JournalQueue.REQUESTS, first + 2).orElseThrow();
        }
        write(queueFile(JournalQueue.REQUESTS), from.offset(), (int) (to.offset() - from.offset()));
        for (int indexed = 0; indexed < 2; indexed++) {
            try (JournalIndex index = journal.open()) {
                WorkerJournal.assertFinds(index, JournalQueue.REQUESTS, first - 1);
                assertThat(index.find(JournalQueue.REQUESTS, first)).isEmpty();
                WorkerJournal.assertFinds(index, JournalQueue.REQUESTS, first + 2);
                WorkerJournal.assertFinds(index, JournalQueue.REQUESTS, first + 99);
            }
            journal.index();
        }
    }

    /** As a file system shows what was reserved and then read by somebody: as zeros that were written. */
    private void reserve() throws IOException {
        for (JournalQueue queue : JournalQueue.values()) {
            Path file = queueFile(queue);
            write(file, Files.size(file), RESERVED_BYTES);
        }
    }

    private static void write(Path file, long at, int zeros) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.allocate(zeros), at);
        }
    }

    private Path queueFile(JournalQueue queue) throws IOException {
        try (Stream<Path> files = Files.list(queue.in(journal.path))) {
            return files.filter(path -> path.toString().endsWith(".cq4"))
                    .findFirst()
                    .orElseThrow();
        }
    }

    private static long bytesRead() throws IOException {
        List<String> lines = Files.readAllLines(THREAD_COUNTERS);
        return Long.parseLong(lines.get(0).substring("rchar: ".length()));
    }
}
