package io.waybill.journal.read;

import io.waybill.api.MessageId;
import io.waybill.host.SafeFiles;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RollFile;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds the message ids that a worker has assigned, by the responses of a peer. Stateless; any thread. */
public final class RespondedIds {

    private static final Logger LOG = LoggerFactory.getLogger(RespondedIds.class);
    /** Max bytes read of one peer's newest files: some seconds of reading. */
    private static final long MAX_READ_BYTES = 2L << 30;

    private RespondedIds() {}

    /**
     * Returns a counter above those of all ids of a worker to which the newest file with such responses responds; 0
     * when there is none.
     *
     * @param responses directory of the peer's responses
     */
    public static long nextCounter(Path responses, int workerId, JournalSettings settings, SafeFiles files) {
        try {
            List<RollFile> there = RollFile.in(responses, files);
            long found = 0;
            long bytes = 0;
            for (int i = there.size() - 1; i >= 0 && found == 0 && bytes < MAX_READ_BYTES; i--) {
                found = inFile(responses, there.get(i), workerId, settings, files);
                bytes += Files.size(there.get(i).path());
            }
            return found;
        } catch (IOException e) { // the files are a peer's: the error proves nothing
            LOG.debug("{} can't be searched for responses to worker {}", responses, workerId, e);
            return 0;
        }
    }

    private static long inFile(Path responses, RollFile file, int workerId, JournalSettings settings, SafeFiles files)
            throws IOException {
        long next = 0;
        try (QueueReader reader = QueueReader.openFile(responses, file, files, settings)) {
            for (Step step = reader.next(); step != Step.END; step = reader.next()) {
                RecordView record = reader.record();
                if (step == Step.RECORD && record.to() == workerId && MessageId.worker(record.id()) == workerId) {
                    next = Math.max(next, MessageId.counter(record.id()) + 1);
                }
            }
        }
        return next;
    }
}
