package io.waybill.salvage;

import io.waybill.journal.JournalQueue;
import io.waybill.query.verify.LostRecords;
import java.util.List;

/**
 * Result of the salvage of one queue. Immutable.
 *
 * @param records copied records
 * @param bytes size of the copied records
 * @param gaps numbers of records that are missing among them, the first ten thousand ranges
 * @param lost number of lost records; losses at the end are unknown
 * @param damages ranges of bytes without a record where one is expected
 * @param strangers valid records at a wrong position, which were omitted
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

    /** Returns whether the files have no evidence of further records. */
    public boolean isWhole() {
        return lost == 0 && damages == 0 && strangers == 0;
    }
}
