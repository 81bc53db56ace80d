package io.waybill.cli.dead;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.cli.show.ShownTime;
import java.io.IOException;
import java.util.Optional;

/**
 * A failed call that was sent again, with the outcome of that. Immutable.
 *
 * @param id of the failed call
 * @param repeat id of the new call
 * @param code of the error; empty for a response
 * @param error text for the user; empty for a response
 */
record Resent(long id, long repeat, long tookNs, Optional<ErrorCode> code, String error) {

    boolean isOk() {
        return error.isEmpty();
    }

    String text() {
        return MessageId.text(id) + " was sent again as " + MessageId.text(repeat) + ": "
                + (isOk() ? "ok, " + ShownTime.took(tookNs) : error);
    }

    void write(JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("id", MessageId.text(id));
        json.writeStringField("resent_as", MessageId.text(repeat));
        json.writeStringField("outcome", isOk() ? "ok" : "error");
        json.writeNumberField("took_ns", tookNs);
        if (code.isPresent()) {
            json.writeStringField("error_code", code.get().name());
        }
        if (!isOk()) {
            json.writeStringField("error", error);
        }
        json.writeEndObject();
    }
}
