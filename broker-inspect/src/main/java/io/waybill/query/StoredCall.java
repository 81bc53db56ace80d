package io.waybill.query;

import io.waybill.query.stored.StoredRecord;
import java.util.Optional;

/**
 * A request with what became of it. Immutable.
 *
 * @param operation of a call by name
 * @param response the response that its receiver's journal has
 */
public record StoredCall(StoredRecord request, Optional<String> operation, Optional<StoredRecord> response) {

    /** What became of a request, as far as the journals know. */
    public enum Outcome {
        OK,
        ERROR,
        /** No response: it runs, was dropped, or its caller gave up. */
        NONE
    }

    public Outcome outcome() {
        return response.map(found -> found.isError() ? Outcome.ERROR : Outcome.OK)
                .orElse(Outcome.NONE);
    }

    /** From sending the request to sending the response, by the wall clock; empty while there is none. */
    public Optional<Long> tookNs() {
        return response.map(found -> found.sentNs() - request.sentNs());
    }
}
