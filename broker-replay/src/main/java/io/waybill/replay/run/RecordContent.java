package io.waybill.replay.run;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.context.CallContext;
import io.waybill.handling.ErrorText;
import io.waybill.handling.Failure;
import io.waybill.query.stored.Payload;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.id.ForkTable;
import io.waybill.wire.RecordView;
import java.util.List;

/**
 * Decoded content of a recorded message. Immutable, except for the array.
 *
 * @param operation operation of a call by name; otherwise the type's name
 * @param payload only the values
 * @param references references, which follow the values
 * @param context context of a request
 * @param sentNs send time on the wall clock
 */
record RecordContent(
        long id,
        MessageType type,
        int from,
        int to,
        String operation,
        byte[] payload,
        List<ForkData> references,
        CallContext context,
        int tensorCount,
        long sentNs,
        ErrorKind errorKind,
        ErrorCode errorCode,
        String errorText,
        Failure.Root root) {

    /**
     * Decodes a record.
     *
     * @throws RejectedMessageException if its references are invalid
     */
    static RecordContent of(RecordView record) throws RejectedMessageException {
        return new RecordContent(
                record.id(),
                record.type(),
                record.from(),
                record.to(),
                Payload.operationOf(record).orElse(record.type().name()),
                record.copyPayload(),
                record.hasReferences() ? ForkTable.decode(record.copyReferences()) : List.of(),
                record.context(),
                record.tensorCount(),
                record.sentNs(),
                record.errorKind(),
                record.errorCode(),
                record.type() == MessageType.EXCEPTION ? ErrorText.of(record) : "",
                Failure.Root.of(record));
    }

    boolean isError() {
        return type == MessageType.EXCEPTION;
    }

    /** Converts an error response to the exception that its caller received. */
    CallException failure() {
        return new Failure(errorKind, errorCode, errorText, root).toException(id);
    }
}
