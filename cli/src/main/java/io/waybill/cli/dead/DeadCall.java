package io.waybill.cli.dead;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.MessageId;
import io.waybill.api.journal.CallRecord;
import io.waybill.cli.journal.CallJson;
import io.waybill.cli.show.ShownTime;
import io.waybill.home.note.Responders.Responder;
import io.waybill.query.StoredCall;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * A recorded call, which usually has failed, and what was sent again of it. Immutable.
 *
 * @param repeated id of the call that this one repeats
 * @param attempt 1 for the first call, 2 for its repeat, and so on
 * @param repeats calls that repeat this one, oldest first
 */
record DeadCall(StoredCall call, Optional<Long> repeated, int attempt, List<StoredCall> repeats) {

    String id() {
        return MessageId.text(call.request().id());
    }

    boolean isNested() {
        return call.request().parent() != MessageId.NONE;
    }

    /** Returns the last call that repeats this one. */
    Optional<StoredCall> lastRepeat() {
        return repeats.isEmpty() ? Optional.empty() : Optional.of(repeats.get(repeats.size() - 1));
    }

    /** Returns whether it was not sent again, or the outcome of that is not known yet. */
    boolean isWaiting() {
        return lastRepeat()
                .map(repeat -> repeat.outcome() == CallRecord.Outcome.NONE)
                .orElse(true);
    }

    /** Returns whether a bundle responded that has this name and version; null for any. */
    boolean isOf(String bundle, String version) {
        Optional<Responder> by = call.notes().responder();
        return (bundle == null
                        || by.filter(found -> found.name().equals(bundle)).isPresent())
                && (version == null
                        || by.filter(found -> found.version().equals(version)).isPresent());
    }

    /** Formats the last repeat for people: its id and its outcome, or a dash. */
    String resentText() {
        return lastRepeat().map(DeadCall::text).orElse("-");
    }

    static String text(StoredCall repeat) {
        return MessageId.text(repeat.request().id()) + " " + repeat.outcomeText();
    }

    /** Writes what was sent again as fields of an open object. */
    void repeatFields(JsonGenerator json) throws IOException {
        json.writeNumberField("attempt", attempt);
        if (repeated.isPresent()) {
            json.writeStringField("repeats", MessageId.text(repeated.get()));
        }
        json.writeArrayFieldStart("resent");
        for (StoredCall repeat : repeats) {
            json.writeStartObject();
            json.writeStringField("id", MessageId.text(repeat.request().id()));
            json.writeStringField("sent", ShownTime.utc(repeat.request().sentNs()));
            CallJson.outcome(repeat, json);
            json.writeEndObject();
        }
        json.writeEndArray();
    }
}
