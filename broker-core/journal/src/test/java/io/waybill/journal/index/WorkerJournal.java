package io.waybill.journal.index;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.WrittenQueue;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;

/** A worker's directory with a journal and its index, and what must hold for lookups in it. */
final class WorkerJournal {

    final Path path;

    WorkerJournal(Path home) throws IOException {
        path = Files.createDirectory(
                home.resolve("3-w"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    }

    WorkerJournal write(long first, long end) {
        WrittenQueue.open(path, JournalQueue.REQUESTS).requests(first, end).close();
        WrittenQueue.open(path, JournalQueue.RESPONSES).responses(first, end).close();
        return this;
    }

    IndexBuilder builder() {
        return IndexBuilder.open(path, WrittenQueue.settings(), WrittenQueue.HOST);
    }

    /** Indexes all there is. Returns how often the index was rebuilt. */
    long index() {
        try (IndexBuilder builder = builder()) {
            catchUp(builder);
            return builder.rebuilds();
        }
    }

    static void catchUp(IndexBuilder builder) {
        IndexBuilder.Progress progress;
        do {
            progress = builder.step(1000);
        } while (progress == IndexBuilder.Progress.BEHIND);
        assertThat(progress).as(builder.problem()).isEqualTo(IndexBuilder.Progress.CAUGHT_UP);
    }

    JournalIndex open() {
        return JournalIndex.open(path, WrittenQueue.settings(), WrittenQueue.HOST);
    }

    /** The same, which remembers no more records than that beside the index. */
    JournalIndex open(int maxRemembered) {
        return JournalIndex.open(path, WrittenQueue.settings(), WrittenQueue.HOST, maxRemembered);
    }

    Path indexPath() {
        return path.resolve("index");
    }

    List<Path> indexFiles() throws IOException {
        try (Stream<Path> files = Files.list(indexPath())) {
            return files.sorted().toList();
        }
    }

    /** Looks for messages from {@code first} to before {@code end}, and for one that is not there. */
    void assertFinds(JournalIndex index, long first, long end, long stride) throws IOException {
        for (long counter = first; counter < end; counter += stride) {
            assertFinds(index, JournalQueue.REQUESTS, MessageId.of(WrittenQueue.WORKER, counter));
            assertFinds(index, JournalQueue.RESPONSES, WrittenQueue.responseId(counter));
        }
        for (JournalQueue queue : JournalQueue.values()) {
            assertThat(index.find(queue, MessageId.of(77, 1))).isEmpty();
        }
    }

    void assertFinds(long first, long end, long stride) throws IOException {
        try (JournalIndex index = open()) {
            assertFinds(index, first, end, stride);
        }
    }

    static void assertFinds(JournalIndex index, JournalQueue queue, long id) throws IOException {
        assertThat(index.find(queue, id)).as(queue + " " + MessageId.text(id)).isPresent();
        RecordView record = index.record(queue);
        assertThat(record.id()).isEqualTo(id);
        assertThat(record.copyPayload()).isEqualTo(WrittenQueue.payloadOf(id));
    }
}
