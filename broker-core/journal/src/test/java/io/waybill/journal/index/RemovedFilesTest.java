package io.waybill.journal.index;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.QueueFile;
import io.waybill.journal.QueueFiles;
import io.waybill.journal.Roll;
import io.waybill.journal.WrittenQueue;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The index of a journal whose oldest files were removed. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class RemovedFilesTest {

    private static final JournalSettings SETTINGS =
            new JournalSettings(Roll.MINUTELY, 1 << 20, 64 << 10, 1 << 20).withFileBytes(1 << 20);
    private static final int RECORDS = 40_000;

    @TempDir
    Path worker;

    private WrittenQueue write(JournalQueue queue) {
        WrittenQueue written = WrittenQueue.open(queue.in(worker), SETTINGS);
        return queue == JournalQueue.REQUESTS ? written.requests(0, RECORDS) : written.responses(0, RECORDS);
    }

    /** All but the newest two. */
    private int removeOldest(JournalQueue queue) throws IOException {
        QueueFiles files = new QueueFiles(worker, queue, WrittenQueue.HOST.files());
        List<QueueFile> there = files.list();
        for (QueueFile file : there.subList(0, there.size() - 2)) {
            files.remove(file, () -> {});
        }
        return there.size() - 2;
    }

    private static void catchUp(IndexBuilder builder) {
        IndexBuilder.Progress progress = IndexBuilder.Progress.BEHIND;
        while (progress == IndexBuilder.Progress.BEHIND) {
            progress = builder.step(10_000);
        }
        assertThat(progress).isEqualTo(IndexBuilder.Progress.CAUGHT_UP);
    }

    private static long idOf(JournalQueue queue, long counter) {
        return queue == JournalQueue.REQUESTS
                ? MessageId.of(WrittenQueue.WORKER, counter)
                : WrittenQueue.responseId(counter);
    }

    private void findsWhatIsThereAndNothingElse() throws IOException {
        try (JournalIndex index = JournalIndex.open(worker, SETTINGS, WrittenQueue.HOST)) {
            for (JournalQueue queue : JournalQueue.values()) {
                assertThat(index.find(queue, idOf(queue, 0))).isEmpty();
                assertThat(index.find(queue, idOf(queue, 5_000))).isEmpty();
                for (long counter = RECORDS - 3_000; counter < RECORDS; counter += 7) {
                    assertThat(index.find(queue, idOf(queue, counter))).isPresent();
                }
            }
            assertThat(index.problem()).isEmpty();
        }
    }

    @Test
    void losesTheEntriesOfRemovedFilesAndKeepsTheOthers() throws IOException {
        try (WrittenQueue requests = write(JournalQueue.REQUESTS);
                WrittenQueue responses = write(JournalQueue.RESPONSES);
                IndexBuilder builder = IndexBuilder.open(worker, SETTINGS, WrittenQueue.HOST)) {
            catchUp(builder);
            assertThat(removeOldest(JournalQueue.REQUESTS)).isGreaterThan(2);
            assertThat(removeOldest(JournalQueue.RESPONSES)).isGreaterThan(2);
            findsWhatIsThereAndNothingElse(); // before the builder has noticed
            requests.requests(RECORDS, RECORDS + 30_000);
            responses.responses(RECORDS, RECORDS + 30_000);
            catchUp(builder);
            findsWhatIsThereAndNothingElse();
            assertThat(builder.rebuilds()).isZero();
        }
        findsWhatIsThereAndNothingElse();
    }

    /** Returns the number of files of which the index has entries, after the builder was closed. */
    private int indexedFiles() throws Exception {
        Path index = new IndexDirectory(worker, WrittenQueue.HOST.files()).path();
        try (IndexStore store = IndexStore.openOwn(index)) {
            return store.lowestIds(JournalQueue.REQUESTS)
                    .below(Integer.MAX_VALUE)
                    .size();
        }
    }

    @Test
    void losesTheEntriesOfRemovedFilesWhenNothingIsAppended() throws Exception {
        write(JournalQueue.REQUESTS).close();
        write(JournalQueue.RESPONSES).close();
        try (IndexBuilder builder = IndexBuilder.open(worker, SETTINGS, WrittenQueue.HOST)) {
            catchUp(builder);
            assertThat(removeOldest(JournalQueue.REQUESTS)).isGreaterThan(2);
            assertThat(builder.step(1)).isEqualTo(IndexBuilder.Progress.CAUGHT_UP);
        }
        assertThat(indexedFiles()).as("files with entries").isEqualTo(2);
    }

    @Test
    void losesTheEntriesOfRemovedFilesWhileItIsBehind() throws Exception {
        write(JournalQueue.RESPONSES).close();
        try (WrittenQueue requests = WrittenQueue.open(JournalQueue.REQUESTS.in(worker), SETTINGS);
                IndexBuilder builder = IndexBuilder.open(worker, SETTINGS, WrittenQueue.HOST)) {
            requests.requests(0, RECORDS);
            catchUp(builder);
            requests.requests(RECORDS, 2 * RECORDS);
            assertThat(builder.step(1)).isEqualTo(IndexBuilder.Progress.BEHIND); // has checked
            assertThat(removeOldest(JournalQueue.REQUESTS)).isGreaterThan(8);
            for (int step = 0; step < 3; step++) { // from the next file on
                assertThat(builder.step(10)).isEqualTo(IndexBuilder.Progress.BEHIND);
            }
        }
        assertThat(indexedFiles()).as("files with entries").isEqualTo(1);
    }

    @Test
    void goesOnWhenWhatItIndexedLastWasRemoved() throws IOException {
        write(JournalQueue.RESPONSES).close();
        try (WrittenQueue requests = WrittenQueue.open(JournalQueue.REQUESTS.in(worker), SETTINGS)) {
            requests.requests(0, 1_000);
            try (IndexBuilder builder = IndexBuilder.open(worker, SETTINGS, WrittenQueue.HOST)) {
                catchUp(builder);
            }
            requests.requests(1_000, RECORDS);
            removeOldest(JournalQueue.REQUESTS);
            removeOldest(JournalQueue.RESPONSES);
            try (IndexBuilder builder = IndexBuilder.open(worker, SETTINGS, WrittenQueue.HOST)) {
                catchUp(builder);
                assertThat(builder.rebuilds()).isZero();
                findsWhatIsThereAndNothingElse();
            }
        }
    }
}
