package io.waybill.query.stored;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.WorkerInfo;
import io.waybill.api.journal.MessageRecord;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.RecordPosition;
import io.waybill.wire.RecordView;
import java.util.Optional;

/**
 * Header and position of a record. Immutable.
 *
 * @param worker owner of the journal
 * @param fileName of its queue's file
 * @param position in that file; empty for a record outside of its journal
 * @param sequence number of the record in its queue
 * @param from worker id of the sender, as written
 * @param sentNs wall clock in ns since 1970
 * @param deadlineNs of a request, on the clock that includes suspension; 0 for none
 * @param dueNs of a request: the deadline by the wall clock in ns since 1970, as it was when sent; 0 for none, or when
 *     it is unknown
 * @param begunNs of a response: when the handler began, in ns since 1970; 0 when none did, or the clock was not read
 * @param traceHigh first half of the trace id
 * @param errorKind of an exception; {@link ErrorKind#UNKNOWN_ERROR} otherwise
 * @param errorCode of an exception
 * @param rootCode of an exception that the failure of another call caused: that one's code
 * @param rootId id of that call
 * @param responder of a response: the number of the bundle that responded; 0 if unknown
 */
public record StoredRecord(
        WorkerInfo worker,
        JournalQueue queue,
        String fileName,
        Optional<RecordPosition> position,
        long sequence,
        long id,
        int from,
        int to,
        MessageType type,
        boolean isRepeated,
        long parent,
        long sentNs,
        long deadlineNs,
        long dueNs,
        long begunNs,
        long traceHigh,
        long traceLow,
        int payloadBytes,
        int sectionBytes,
        int tensorCount,
        ErrorKind errorKind,
        ErrorCode errorCode,
        Optional<ErrorCode> rootCode,
        long rootId,
        long responder)
        implements MessageRecord {

    /** Creates the header of a record that was read at a position of a queue. */
    public static StoredRecord of(WorkerInfo worker, JournalQueue queue, RecordPosition position, RecordView record) {
        return of(worker, queue, position.fileName(), Optional.of(position), record);
    }

    /** Creates the header of a record that was copied from a file of a queue. */
    public static StoredRecord copied(WorkerInfo worker, JournalQueue queue, String fileName, RecordView record) {
        return of(worker, queue, fileName, Optional.empty(), record);
    }

    private static StoredRecord of(
            WorkerInfo worker,
            JournalQueue queue,
            String fileName,
            Optional<RecordPosition> position,
            RecordView record) {
        boolean isResponse = record.type().isResponse();
        boolean hasRoot = record.type() == MessageType.EXCEPTION && record.hasRoot();
        return new StoredRecord(
                worker,
                queue,
                fileName,
                position,
                record.sequence(),
                record.id(),
                record.from(),
                record.to(),
                record.type(),
                record.isRepeated(),
                record.parent(),
                record.sentNs(),
                isResponse ? 0 : record.deadlineNs(),
                isResponse ? 0 : record.dueNs(),
                isResponse ? record.begunNs() : 0,
                isResponse ? 0 : record.traceHigh(),
                isResponse ? 0 : record.traceLow(),
                record.payloadLength(),
                record.sectionLength(),
                record.tensorCount(),
                record.errorKind(),
                record.errorCode(),
                hasRoot ? Optional.of(record.rootCode()) : Optional.empty(),
                hasRoot ? record.rootId() : MessageId.NONE,
                isResponse ? record.responder() : 0);
    }

    /** Returns the location of the record, possibly at the time of its copy: file, offset and index, if known. */
    public String location() {
        return position.map(RecordPosition::toString).orElse(fileName);
    }

    @Override
    public boolean isError() {
        return type == MessageType.EXCEPTION;
    }
}
