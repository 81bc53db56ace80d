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

    /** Greatest record that is believed, whatever its writer was set to. */
    private static final int MAX_RECORD_BYTES = 64 << 20;

    private static final JournalSettings READING =
            new JournalSettings(Roll.DAILY, 4L * MAX_RECORD_BYTES, MAX_RECORD_BYTES, MAX_RECORD_BYTES);

    /** The whole queue, from its oldest record on. The caller closes. */
    public QueueReader read(JournalQueue queue, Host host) {
        return QueueReader.open(queue.in(path), host.files(), READING);
    }

    /** The files that a queue has now, from its oldest record on. The caller closes. */
    public QueueReader readPresent(JournalQueue queue, Host host) throws IOException {
        return QueueReader.openPresent(queue.in(path), host.files(), READING);
    }

    /** These files of a queue, from the oldest record on. The caller closes. */
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
