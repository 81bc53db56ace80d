package io.waybill.salvage;

import io.waybill.journal.JournalQueue;
import io.waybill.query.verify.LostRecords;
import java.util.List;

/**
 * Result of the salvage of one queue. Immutable.
 *
 * @param records that were copied
 * @param bytes of those
 * @param gaps numbers of records that are missing among them, the first ten thousand ranges
 * @param lost their number; what is missing at the end is unknown
 * @param damages ranges of bytes without a record where one is expected
 * @param strangers valid records at a wrong position, which were left out
 */
public record SalvagedQueue(
        JournalQueue queue,
        long records,
        long bytes,
        List<LostRecords.Range> gaps,
        long lost,
        long damages,
        long strangers) {

    public SalvagedQueue {
        gaps = List.copyOf(gaps);
    }

    /** Whether nothing in the files showed that there was more. */
    public boolean isWhole() {
        return lost == 0 && damages == 0 && strangers == 0;
    }
}
