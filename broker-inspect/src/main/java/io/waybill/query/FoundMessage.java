package io.waybill.query;

import io.waybill.query.stored.CallNotes;
import io.waybill.query.stored.Payload;
import io.waybill.query.stored.StoredRecord;
import java.util.List;
import java.util.Optional;

/**
 * Everything that the journals contain for one id. Immutable.
 *
 * @param operation of a call by name
 * @param ancestors the requests whose handlers led to this one, outermost first
 * @param children the requests that this request's handler sent, oldest first, with their children
 * @param notes remarks for the reader: damage, a missing journal, an unused index
 * @param workerNotes what the workers have noted beside the records
 */
public record FoundMessage(
        long id,
        Optional<String> operation,
        Optional<StoredRecord> request,
        Optional<Payload> requestPayload,
        Optional<StoredRecord> response,
        Optional<Payload> responsePayload,
        List<StoredCall> ancestors,
        List<CallTree> children,
        List<String> notes,
        CallNotes workerNotes) {

    public boolean isEmpty() {
        return request.isEmpty() && response.isEmpty();
    }

    /** Returns the request with its outcome; empty if there is no request. */
    public Optional<StoredCall> call() {
        return request.map(sent -> new StoredCall(sent, operation, response, workerNotes));
    }
}
