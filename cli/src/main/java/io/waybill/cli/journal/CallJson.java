package io.waybill.cli.journal;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.MessageId;
import io.waybill.home.note.Responders.Responder;
import io.waybill.query.StoredCall;
import io.waybill.query.stored.StoredRecord;
import java.io.IOException;
import java.util.Locale;
import java.util.Optional;

/** Writes the outcome of a call as JSON, with the same fields in all commands. Stateless. */
public final class CallJson {

    private CallJson() {}

    /** Writes the fields of an open object. */
    public static void outcome(StoredCall call, JsonGenerator json) throws IOException {
        json.writeStringField("outcome", call.outcome().name().toLowerCase(Locale.ROOT));
        if (call.tookNs().isPresent()) {
            json.writeNumberField("took_ns", call.tookNs().get());
        }
        if (call.errorCode().isPresent()) {
            json.writeStringField("error_code", call.errorCode().get().name());
        }
        if (call.rootCode().isPresent()) {
            json.writeStringField("root_code", call.rootCode().get().name());
            root(call.response().map(StoredRecord::rootId).orElse(MessageId.NONE), json);
        }
        if (call.isLate()) {
            json.writeBooleanField("late", true);
        }
        Optional<Responder> by = call.notes().responder();
        if (by.isPresent()) {
            json.writeStringField("bundle", by.get().name());
            json.writeStringField("bundle_version", by.get().version());
        }
    }

    /** Writes the id of the call that failed first, if that one was sent. */
    static void root(long id, JsonGenerator json) throws IOException {
        if (id != MessageId.NONE) {
            json.writeStringField("root_id", MessageId.text(id));
        }
    }
}
