package io.waybill.query;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.waybill.host.UnsafeFileException;
import io.waybill.journal.JournalQueue;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A home with the journals of many workers, which several threads read. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class StatsReaderTest {

    private static final int FIRST = 100;
    private static final int COPIES = 300;
    private static final int CALLS = 20;

    @TempDir
    Path temporary;

    private WrittenHome written;

    @BeforeEach
    void write() throws IOException {
        written = new WrittenHome(temporary).calls(0, CALLS);
        byte[] requests = contentOf(written.file(WrittenHome.CALLER, JournalQueue.REQUESTS));
        String name = written.file(WrittenHome.CALLER, JournalQueue.REQUESTS)
                .getFileName()
                .toString();
        for (int i = 0; i < COPIES; i++) {
            Path worker = directory(written.home.workersPath().resolve(FIRST + i + "-copy-" + i));
            Files.write(directory(JournalQueue.REQUESTS.in(worker)).resolve(name), requests);
            directory(JournalQueue.RESPONSES.in(worker));
        }
    }

    private static Path directory(Path path) throws IOException {
        return Files.createDirectory(
                path, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    }

    /** What is written of a file, without what is reserved behind it. */
    private static byte[] contentOf(Path file) throws IOException {
        byte[] all = Files.readAllBytes(file);
        int end = all.length;
        while (all[end - 1] == 0) {
            end--;
        }
        return Arrays.copyOf(all, end + Long.BYTES);
    }

    private List<QueueStats> stats(MessageFilter filter) throws IOException {
        List<QueueStats> all = new ArrayList<>();
        try (HomeJournals journals = HomeJournals.open(written.home)) {
            journals.stats(filter, all::add);
        }
        return all;
    }

    @Test
    void countsTheQueuesOfEachWorkerInTheOrderOfTheirIds() throws IOException {
        List<QueueStats> all = stats(MessageFilter.ALL);
        assertThat(all).hasSize(2 * (2 + COPIES));
        assertThat(all.subList(4, all.size()))
                .extracting(stats -> stats.worker().id())
                .isSorted()
                .startsWith(FIRST, FIRST)
                .endsWith(FIRST + COPIES - 1);
        for (QueueStats stats : all.subList(4, all.size())) {
            boolean isRequests = stats.queue() == JournalQueue.REQUESTS;
            assertThat(stats.records()).as(stats.toString()).isEqualTo(isRequests ? CALLS : 0);
            assertThat(stats.files()).as(stats.toString()).isEqualTo(isRequests ? 1 : 0);
            assertThat(stats.damages()).as(stats.toString()).isZero();
        }
    }

    @Test
    void countsThoseOfOneWorker() throws IOException {
        assertThat(stats(new MessageFilter.Builder().worker(FIRST + 7).build()))
                .extracting(stats -> stats.worker().name(), QueueStats::records)
                .containsExactly(tuple("copy-7", (long) CALLS), tuple("copy-7", 0L));
    }

    @Test
    void namesTheDirectoryThatMayNotBeRead() throws IOException {
        Path unsafe = JournalQueue.REQUESTS.in(
                written.home.workersPath().resolve(FIRST + COPIES / 2 + "-copy-" + COPIES / 2));
        Files.setPosixFilePermissions(unsafe, PosixFilePermissions.fromString("rwxrwxrwx"));
        assertThatThrownBy(() -> stats(MessageFilter.ALL))
                .isInstanceOf(UnsafeFileException.class)
                .hasMessageContaining(unsafe.toString());
    }
}
