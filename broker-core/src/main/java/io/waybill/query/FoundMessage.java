package io.waybill.query;

import java.util.List;
import java.util.Optional;

/**
 * All that the journals hold under one id. Immutable.
 *
 * @param children ids of requests that were sent from the request's handler, oldest first
 * @param notes what a reader should know: damage, a missing journal, an index that is not used
 */
public record FoundMessage(
        long id,
        Optional<StoredRecord> request,
        Optional<Payload> requestPayload,
        Optional<StoredRecord> response,
        Optional<Payload> responsePayload,
        List<Long> children,
        List<String> notes) {

    public boolean isEmpty() {
        return request.isEmpty() && response.isEmpty();
    }
}
