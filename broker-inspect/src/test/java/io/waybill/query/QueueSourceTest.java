package io.waybill.query;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.WorkerInfo;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.format.FileWindow;
import io.waybill.query.stored.StoredJournal;
import io.waybill.testing.core.Waits;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What many queues take that are read as one: a home may have tens of thousands, of callers that have left. */
@Timeout(300)
class QueueSourceTest {

    private static final int QUEUES = 64;
    private static final int CALLS = 5000; // more than a large read
    private static final int LOOKS_WITHOUT_CHANGE = 5;
    private static final long WINDOWS = QUEUES * (long) FileWindow.CAPACITY;

    @TempDir
    Path temporary;

    private final List<QueueSource> sources = new ArrayList<>();
    private WrittenHome written;
    private long before;

    @BeforeEach
    void write() throws Exception {
        written = new WrittenHome(temporary).calls(0, CALLS);
        before = stableBytes();
        StoredJournal journal =
                new StoredJournal(new WorkerInfo(WrittenHome.CALLER, "caller"), written.worker(WrittenHome.CALLER));
        for (int i = 0; i < QUEUES; i++) {
            sources.add(QueueSource.ofPresent(journal, JournalQueue.REQUESTS, written.home.host()));
        }
    }

    @AfterEach
    void close() {
        sources.forEach(QueueSource::close);
    }

    private static long directBytes() {
        return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct"))
                .mapToLong(BufferPoolMXBean::getMemoryUsed)
                .sum();
    }

    /** What is in use once the buffers of earlier tests were freed, by a thread of its own. */
    private static long stableBytes() {
        long stable = directBytes();
        for (int same = 0; same < LOOKS_WITHOUT_CHANGE; ) {
            System.gc();
            LockSupport.parkNanos(20_000_000);
            long now = directBytes();
            same = now == stable ? same + 1 : 0;
            stable = now;
        }
        return stable;
    }

    private long taken() {
        System.gc(); // ends buffers that nothing refers to
        return directBytes() - before;
    }

    private void read(int records) throws Exception {
        for (QueueSource source : sources) {
            for (int read = 0; read < records; read++) {
                assertThat(source.next()).isTrue();
            }
        }
    }

    @Test
    void givesItsMemoryBackAtTheEnd() throws Exception {
        read(CALLS / 2);
        assertThat(taken())
                .as("memory of %d queues that are being read", QUEUES)
                .isGreaterThanOrEqualTo(WINDOWS / 2);
        read(CALLS - CALLS / 2);
        for (QueueSource source : sources) {
            assertThat(source.next()).isFalse();
        }
        Waits.until(
                () -> "of " + WINDOWS + " bytes of windows a quarter is left, and not " + taken(),
                () -> taken() < WINDOWS / 4);
    }

    @Test
    void readsLessAtOnceWhenItIsOneOfMany() throws Exception {
        sources.forEach(source -> source.readAhead(1));
        read(CALLS / 2);
        assertThat(taken()).as("memory of %d queues", QUEUES).isLessThan(WINDOWS / 4);
    }
}
