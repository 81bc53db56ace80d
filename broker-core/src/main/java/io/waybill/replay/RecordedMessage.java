package io.waybill.replay;

import io.waybill.api.WorkerInfo;
import io.waybill.journal.JournalQueue;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;

/**
 * One message of a recording, whose record has passed its check. Immutable, but for the array.
 *
 * @param worker whose journal it lies in
 * @param fileName of the queue's file it lies in, by which the archive knows its tensors
 * @param record the whole record, envelope included
 */
public record RecordedMessage(WorkerInfo worker, JournalQueue queue, String fileName, byte[] record) {

    /** Shows the record in a buffer, which holds it from then on. */
    public RecordView in(MessageBuffer buffer) {
        buffer.reserve(record.length);
        buffer.memory().putBytes(0, record);
        return new RecordView(buffer);
    }
}
