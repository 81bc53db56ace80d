package io.waybill.query.stored;

import io.waybill.api.WorkerInfo;
import io.waybill.host.Host;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.QueueFile;
import io.waybill.journal.Roll;
import io.waybill.journal.index.JournalIndex;
import io.waybill.journal.read.QueueReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * The journal of one worker in the home, alive or not. Immutable.
 *
 * @param path of the worker's directory
 */
public record StoredJournal(WorkerInfo info, Path path) {

    /** Max size of a record that is trusted, regardless of its writer's settings. */
    private static final int MAX_RECORD_BYTES = 64 << 20;

    private static final JournalSettings READING =
            new JournalSettings(Roll.DAILY, 4L * MAX_RECORD_BYTES, MAX_RECORD_BYTES, MAX_RECORD_BYTES);

    /** Opens the whole queue, from its oldest record on. The caller closes the reader. */
    public QueueReader read(JournalQueue queue, Host host) {
        return QueueReader.open(queue.in(path), host.files(), READING);
    }

    /** Opens the present files of a queue, from its oldest record on. The caller closes the reader. */
    public QueueReader readPresent(JournalQueue queue, Host host) throws IOException {
        return QueueReader.openPresent(queue.in(path), host.files(), READING);
    }

    /** Opens these files of a queue, from the oldest record on. The caller closes the reader. */
    public QueueReader read(JournalQueue queue, List<QueueFile> files, Host host) {
        return QueueReader.openFiles(queue.in(path), files, host.files(), READING);
    }

    /** Opens the index of its messages. The caller closes it. */
    public JournalIndex index(Host host) {
        return JournalIndex.open(path, READING, host);
    }

    @Override
    public String toString() {
        return info.id() + "-" + info.name();
    }
}
