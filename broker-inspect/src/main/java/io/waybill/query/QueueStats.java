package io.waybill.query;

import io.waybill.api.MessageType;
import io.waybill.api.WorkerInfo;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.QueueFile;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Figures of one queue. Immutable.
 *
 * @param bytes of whole records
 * @param files that the queue has
 * @param diskBytes disk space of the files, with their archive and reserved space
 * @param firstSentNs wall clock in ns since 1970; 0 if there is no record
 * @param damages ranges that hold no record where one must be
 * @param types numbers of records of each type, by name
 */
public record QueueStats(
        WorkerInfo worker,
        JournalQueue queue,
        long records,
        long bytes,
        int files,
        long diskBytes,
        long firstSentNs,
        long lastSentNs,
        long errors,
        long damages,
        Map<String, Long> types) {

    public QueueStats {
        types = Collections.unmodifiableMap(new TreeMap<>(types));
    }

    /** Adds up a queue's records. One thread. */
    static final class Sum {

        private static final int CODES = 0x400;

        private final long[] byCode = new long[CODES];
        private long records;
        private long bytes;
        private long firstSentNs;
        private long lastSentNs;
        private long damages;

        void record(int typeCode, long recordBytes, long sentNs) {
            if (records == 0) {
                firstSentNs = sentNs;
            }
            records++;
            bytes += recordBytes;
            lastSentNs = sentNs;
            byCode[typeCode]++;
        }

        void damage() {
            damages++;
        }

        QueueStats stats(WorkerInfo worker, JournalQueue queue, List<QueueFile> files) {
            Map<String, Long> types = new TreeMap<>();
            for (int code = 0; code < CODES; code++) {
                if (byCode[code] > 0) {
                    types.put(MessageType.of(code).name(), byCode[code]);
                }
            }
            return new QueueStats(
                    worker,
                    queue,
                    records,
                    bytes,
                    files.size(),
                    files.stream().mapToLong(QueueFile::bytes).sum(),
                    firstSentNs,
                    lastSentNs,
                    byCode[MessageType.EXCEPTION.code()],
                    damages,
                    types);
        }
    }
}
