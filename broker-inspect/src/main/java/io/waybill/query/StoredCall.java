package io.waybill.query;

import io.waybill.query.stored.StoredRecord;
import java.util.Locale;
import java.util.Optional;

/**
 * A request with its outcome. Immutable.
 *
 * @param operation of a call by name
 * @param response the response in its receiver's journal
 */
public record StoredCall(StoredRecord request, Optional<String> operation, Optional<StoredRecord> response) {

    /** Outcome of a request, as far as the journals show it. */
    public enum Outcome {
        OK,
        ERROR,
        /** No response: the request is running, was dropped, or timed out. */
        NONE
    }

    public Outcome outcome() {
        return response.map(found -> found.isError() ? Outcome.ERROR : Outcome.OK)
                .orElse(Outcome.NONE);
    }

    /** Returns the outcome as people read it: {@code ok}, {@code none}, or {@code error} with its code. */
    public String outcomeText() {
        String text = outcome().name().toLowerCase(Locale.ROOT);
        return outcome() == Outcome.ERROR ? text + " " + response.orElseThrow().errorCode() : text;
    }

    /**
     * Returns the time between sending the request and the response, by the wall clock; empty while there is no
     * response.
     */
    public Optional<Long> tookNs() {
        return response.map(found -> found.sentNs() - request.sentNs());
    }
}
