package io.waybill.cli.journal;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.MessageId;
import io.waybill.api.tensor.Tensor;
import io.waybill.cli.show.Printable;
import io.waybill.cli.show.ShownTime;
import io.waybill.query.FoundMessage;
import io.waybill.query.StoredCall;
import io.waybill.query.StoredMessages;
import io.waybill.query.stored.Payload;
import io.waybill.query.stored.StoredRecord;
import io.waybill.query.stored.StoredStorage;
import io.waybill.query.stored.ValueLine;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Output of {@code journal show} for one message. */
public final class ShownMessage {

    private static final int MAX_PAYLOAD_CHARS = 4000;
    private static final Pattern NODE = Pattern.compile("Error on Node ([0-9]{1,5}): ");

    private final StoredMessages journals;
    private final FoundMessage message;

    public ShownMessage(StoredMessages journals, FoundMessage message) {
        this.journals = journals;
        this.message = message;
    }

    public void print(PrintWriter out) throws IOException {
        out.println("message " + MessageId.text(message.id()));
        if (message.request().isPresent()) {
            print("request", message.request().get(), message.requestPayload().orElseThrow(), out);
        } else {
            out.println("request   not found");
        }
        if (message.response().isPresent()) {
            print(
                    "response",
                    message.response().get(),
                    message.responsePayload().orElseThrow(),
                    out);
        } else {
            out.println("response  none" + ended(", the caller got "));
        }
        if (!message.ancestors().isEmpty() || !message.children().isEmpty()) {
            out.println("tree");
            new TreeLines(journals).print(message.ancestors(), message.call().orElseThrow(), message.children(), out);
        }
        for (String note : message.notes()) {
            out.println("note      " + Printable.oneLine(note));
        }
    }

    private void print(String what, StoredRecord record, Payload payload, PrintWriter out) throws IOException {
        out.printf(
                Locale.ROOT,
                "%-9s %s from %s (id %d) to %s (id %d)%s%n",
                what,
                record.type(),
                journals.nameOf(record.from()),
                record.from(),
                journals.nameOf(record.to()),
                record.to(),
                record.isRepeated() ? ", repeated" : "");
        if (begunAfterNs().isPresent() && record.type().isResponse()) {
            out.println("  begun    " + ShownTime.took(begunAfterNs().get()) + " after the request was sent, responded "
                    + ShownTime.took(record.sentNs() - record.begunNs()) + " after that");
        }
        out.println("  sent     " + ShownTime.of(record.sentNs()) + took(record));
        if (record.type().isResponse()) {
            printOutcome(record, out);
        }
        boolean isThere = payload.bytes() > 0 || payload.problem().isEmpty();
        if (isThere) {
            String text = PayloadText.of(payload, MAX_PAYLOAD_CHARS);
            out.println("  payload  " + (record.isError() ? withNames(text) : text));
        }
        if (!payload.problem().isEmpty()) {
            out.println("  problem  " + Printable.oneLine(payload.problem()));
        }
        if (!payload.observations().isEmpty()) {
            out.println("  observed " + ShownObservations.of(payload.observations()));
        }
        if (isThere) {
            out.println("  size     " + record.payloadBytes() + " bytes of payload, " + record.tensorCount()
                    + " tensors in " + record.sectionBytes() + " bytes");
        }
        for (int i = 0; i < payload.tensors().size(); i++) {
            out.println(
                    "  tensor   " + i + ": " + tensor(record, payload.tensors().get(i)));
        }
        if (record.parent() != MessageId.NONE) {
            out.println("  parent   " + MessageId.text(record.parent()));
        }
        ShownContext.print(payload, out);
        out.println("  at       " + record.worker().id() + "-" + record.worker().name() + "/"
                + record.queue().directoryName() + "/" + record.location() + ", record " + record.sequence());
    }

    private void printOutcome(StoredRecord response, PrintWriter out) {
        message.workerNotes()
                .responder()
                .ifPresent(by -> out.println("  bundle   " + Printable.oneLine(by.toString())));
        if (response.isError()) {
            out.println("  error    " + response.errorCode() + " (" + response.errorKind() + ")"
                    + response.rootCode()
                            .map(root -> ", caused by " + root + " of "
                                    + (response.rootId() == MessageId.NONE
                                            ? "a call that was not sent"
                                            : "call " + MessageId.text(response.rootId())))
                            .orElse(""));
        }
        Optional<StoredCall> call = message.call();
        if (call.filter(StoredCall::isLate).isPresent()) {
            out.println("  late     " + ended("the caller had got ") + ", and did not get this response");
        } else if (message.workerNotes().outcome().isPresent()) {
            out.println("  unread   " + ended("the caller got ") + " instead of this response");
        }
    }

    /** Returns the outcome that the caller's worker gave the call, with its time; an empty text if it gave none. */
    private String ended(String before) {
        Optional<StoredCall> call = message.call();
        boolean isOwn = message.workerNotes().outcome().isPresent()
                || call.filter(StoredCall::isLate).isPresent();
        return isOwn
                ? before + call.orElseThrow().errorCode().orElseThrow() + " "
                        + ShownTime.took(call.get().tookNs().orElseThrow()) + " after the request"
                : "";
    }

    /** Replaces the number of a node in PyTorch's text with its name. */
    private String withNames(String text) {
        return NODE.matcher(text).replaceAll(found -> {
            String name = journals.nameOf(Integer.parseInt(found.group(1)));
            boolean isKnown = !name.equals(found.group(1));
            return Matcher.quoteReplacement(
                    isKnown ? "Error on Node " + found.group(1) + " (" + name + "): " : found.group());
        });
    }

    private String tensor(StoredRecord record, Tensor tensor) throws IOException {
        StoredStorage storage = journals.tensors().storageOf(record, tensor);
        String strides = tensor.isContiguous() ? "" : " strides " + Arrays.toString(tensor.strides());
        return ValueLine.kind(tensor) + strides + ", storage " + storage.number() + " of " + storage.sizeBytes()
                + " bytes: " + storage.text();
    }

    private String took(StoredRecord record) {
        Optional<StoredRecord> request = message.request();
        return record.type().isResponse() && request.isPresent()
                ? ", " + ShownTime.took(record.sentNs() - request.get().sentNs()) + " after the request"
                : "";
    }

    /**
     * Returns the time between the sending of the request and the start of its handler; empty if it is not recorded.
     */
    private Optional<Long> begunAfterNs() {
        return message.call()
                .flatMap(StoredCall::response)
                .filter(response -> response.begunNs() != 0)
                .map(response ->
                        response.begunNs() - message.request().orElseThrow().sentNs());
    }

    private void stages(JsonGenerator json) throws IOException {
        Optional<Long> took = message.response()
                .flatMap(response -> message.request().map(request -> response.sentNs() - request.sentNs()));
        if (took.isPresent()) {
            json.writeObjectFieldStart("stages");
            if (begunAfterNs().isPresent()) {
                json.writeNumberField("waited_ns", begunAfterNs().get());
                json.writeNumberField("ran_ns", took.get() - begunAfterNs().get());
            }
            json.writeNumberField("took_ns", took.get());
            json.writeEndObject();
        }
    }

    void writeJson(JsonGenerator json) throws IOException {
        json.writeStartObject();
        fields(json);
        json.writeEndObject();
    }

    /** Writes the fields of an open object. */
    public void fields(JsonGenerator json) throws IOException {
        RecordJson records = new RecordJson(journals);
        json.writeStringField("id", MessageId.text(message.id()));
        if (message.call().isPresent()) {
            CallJson.outcome(message.call().get(), json);
        }
        part("request", message.request(), message.requestPayload(), records, json);
        part("response", message.response(), message.responsePayload(), records, json);
        stages(json);
        new TreeLines(journals).write(message.ancestors(), message.children(), json);
        json.writeArrayFieldStart("notes");
        for (String note : message.notes()) {
            json.writeString(note);
        }
        json.writeEndArray();
    }

    private static void part(
            String name,
            Optional<StoredRecord> record,
            Optional<Payload> payload,
            RecordJson records,
            JsonGenerator json)
            throws IOException {
        if (record.isPresent()) {
            json.writeObjectFieldStart(name);
            records.fields(record.get(), json);
            records.payload(record.get(), payload.orElseThrow(), Map.of(), json);
            json.writeEndObject();
        }
    }
}
