package io.waybill.query;

import io.waybill.api.ErrorCode;
import io.waybill.api.journal.CallRecord;
import io.waybill.home.note.NotedOutcomes.Noted;
import io.waybill.home.note.Responders.Responder;
import io.waybill.query.stored.CallNotes;
import io.waybill.query.stored.StoredRecord;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * A request with its outcome for the caller. Immutable.
 *
 * @param operation of a call by name
 * @param response the response in its receiver's journal, which may have arrived too late
 * @param notes notes of the workers in addition to the records
 */
public record StoredCall(
        StoredRecord request, Optional<String> operation, Optional<StoredRecord> response, CallNotes notes)
        implements CallRecord {

    /** Errors with which a call ends before its response is read. */
    private static final Set<ErrorCode> ENDS = EnumSet.of(ErrorCode.TIMED_OUT, ErrorCode.WORKER_LOST, ErrorCode.CLOSED);

    /** Creates a call without notes. */
    public StoredCall(StoredRecord request, Optional<String> operation, Optional<StoredRecord> response) {
        this(request, operation, response, CallNotes.NONE);
    }

    @Override
    public Outcome outcome() {
        if (errorCode().isPresent()) {
            return Outcome.ERROR;
        }
        return response.isPresent() ? Outcome.OK : Outcome.NONE;
    }

    @Override
    public Optional<ErrorCode> errorCode() {
        if (notes.outcome().isPresent()) {
            return notes.outcome().map(Noted::code);
        }
        return isLate()
                ? Optional.of(ErrorCode.TIMED_OUT)
                : delivered().filter(StoredRecord::isError).map(StoredRecord::errorCode);
    }

    @Override
    public boolean isLate() {
        if (response.isEmpty() || response.get().isError() && response.get().errorCode() == ErrorCode.TIMED_OUT) {
            return false; // the receiver abandoned it, too
        }
        return notes.outcome().isPresent()
                ? ENDS.contains(notes.outcome().get().code())
                : !notes.isComplete() && request.dueNs() != 0 && response.get().sentNs() > request.dueNs();
    }

    /**
     * Returns the response that the caller received; empty if its worker gave it an error instead, or there is none.
     */
    private Optional<StoredRecord> delivered() {
        return notes.outcome().isPresent() || isLate() ? Optional.empty() : response;
    }

    @Override
    public Optional<ErrorCode> rootCode() {
        return delivered().flatMap(StoredRecord::rootCode);
    }

    /**
     * Formats the outcome for people: {@code ok}, {@code none}, or {@code error} with its code, and with that of the
     * call that caused it.
     */
    public String outcomeText() {
        String text = outcome().name().toLowerCase(Locale.ROOT);
        return text
                + errorCode().map(code -> " " + code).orElse("")
                + rootCode().map(root -> " <- " + root).orElse("")
                + (isLate() ? ", late" : "");
    }

    @Override
    public Optional<Long> tookNs() {
        return notes.outcome()
                .map(Noted::atNs)
                .or(() -> isLate() ? Optional.of(request.dueNs()) : response.map(StoredRecord::sentNs))
                .map(endNs -> endNs - request.sentNs());
    }

    @Override
    public Optional<String> responder() {
        return notes.responder().map(Responder::toString);
    }
}
