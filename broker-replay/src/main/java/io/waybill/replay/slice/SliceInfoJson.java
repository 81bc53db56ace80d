package io.waybill.replay.slice;

import static io.waybill.replay.slice.MalformedSliceException.require;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.WorkerInfo;
import io.waybill.home.note.NotedOutcomes.Noted;
import io.waybill.home.note.Responders.Responder;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Converts {@link SliceInfo}s to JSON and back. Input is untrusted: sizes, counts and ranges are checked. Stateless.
 */
final class SliceInfoJson {

    private static final int MAX_ENTRIES = WorkerInfo.MAX_ID + 1;
    private static final int MAX_STRING = 4096;
    /** Form of an outcome: counter of the id, error code, and time. */
    private static final Pattern OUTCOME =
            Pattern.compile("[0-9]{1,5}\\.([0-9]{1,15}) ([0-9]{1,5}) ([0-9]{1,18}|[1-8][0-9]{18})");

    private static final JsonFactory JSON = JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(16)
                    .maxStringLength(MAX_STRING)
                    .maxNameLength(MAX_STRING)
                    .maxNumberLength(32)
                    .maxDocumentLength(SliceLayout.MAX_INFO_BYTES)
                    .build())
            .build();

    private SliceInfoJson() {}

    static byte[] write(SliceInfo info) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(1024);
        try (JsonGenerator json = JSON.createGenerator(bytes)) {
            json.useDefaultPrettyPrinter();
            json.writeStartObject();
            json.writeNumberField("format", SliceLayout.FORMAT);
            json.writeStringField("payloads", info.payloads().text());
            json.writeNumberField("calls", info.calls());
            json.writeNumberField("needed", info.needed());
            json.writeNumberField("storages", info.storages());
            writeList("problems", info.problems(), json);
            json.writeArrayFieldStart("workers");
            for (SliceInfo.Member member : info.workers()) {
                write(member, json);
            }
            json.writeEndArray();
            json.writeEndObject();
        } catch (IOException e) {
            throw new IllegalStateException("JSON into memory failed", e);
        }
        return bytes.toByteArray();
    }

    private static void write(SliceInfo.Member member, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeNumberField("id", member.worker().id());
        json.writeStringField("name", member.worker().name());
        if (!member.version().isEmpty()) {
            json.writeStringField("version", cut(member.version()));
            json.writeStringField("javaVersion", cut(member.javaVersion()));
            writeList("serves", member.serves(), json);
        }
        json.writeArrayFieldStart("bundles");
        for (SliceInfo.Bundle bundle : member.bundles()) {
            json.writeStartObject();
            json.writeStringField("file", cut(bundle.file()));
            json.writeStringField("symbolicName", cut(bundle.symbolicName()));
            json.writeStringField("version", cut(bundle.version()));
            json.writeStringField("sha256", cut(bundle.sha256()));
            json.writeEndObject();
        }
        json.writeEndArray();
        writeNotes(member, json);
        json.writeEndObject();
    }

    private static void writeNotes(SliceInfo.Member member, JsonGenerator json) throws IOException {
        json.writeArrayFieldStart("responders");
        for (Responder responder : member.responders()) {
            json.writeStartObject();
            json.writeStringField("number", Long.toHexString(responder.number()));
            json.writeStringField("name", responder.name());
            json.writeStringField("version", responder.version());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("outcomes");
        for (Map.Entry<Long, Noted> each : member.outcomes().entrySet()) {
            json.writeString(MessageId.text(each.getKey()) + " "
                    + each.getValue().code().number() + " " + each.getValue().atNs());
        }
        json.writeEndArray();
    }

    private static void writeList(String field, List<String> texts, JsonGenerator json) throws IOException {
        json.writeArrayFieldStart(field);
        for (String text : texts) {
            json.writeString(cut(text));
        }
        json.writeEndArray();
    }

    private static String cut(String text) {
        return text.length() <= MAX_STRING ? text : text.substring(0, MAX_STRING);
    }

    static SliceInfo read(byte[] bytes) throws MalformedSliceException {
        try (JsonParser json = JSON.createParser(bytes)) {
            require(json.nextToken() == JsonToken.START_OBJECT, "expected an object, found %s", json.currentToken());
            SliceInfo info = info((Fields) value(json));
            require(json.nextToken() == null, "expected the end behind the JSON object, found more");
            return info;
        } catch (MalformedSliceException e) {
            throw e;
        } catch (IOException e) {
            // Jackson's text would quote the content
            throw new MalformedSliceException("expected JSON, found " + bytes.length + " other bytes", e);
        }
    }

    private static SliceInfo info(Fields fields) throws MalformedSliceException {
        long format = fields.number("format", Long.MAX_VALUE);
        require(
                format == SliceLayout.FORMAT,
                "expected a slice of format %d, found format %d",
                SliceLayout.FORMAT,
                format);
        String payloads = fields.text("payloads");
        List<SliceInfo.Member> workers = new ArrayList<>();
        for (Fields worker : fields.list("workers", Fields.class)) {
            workers.add(member(worker));
        }
        return new SliceInfo(
                Payloads.named(payloads)
                        .orElseThrow(() -> new MalformedSliceException(
                                "expected payloads full, digest or none, found " + payloads)),
                fields.number("calls", Integer.MAX_VALUE),
                fields.number("needed", Integer.MAX_VALUE),
                fields.number("storages", Integer.MAX_VALUE),
                fields.list("problems", String.class),
                workers);
    }

    private static SliceInfo.Member member(Fields fields) throws MalformedSliceException {
        List<SliceInfo.Bundle> bundles = new ArrayList<>();
        for (Fields bundle : fields.list("bundles", Fields.class)) {
            bundles.add(new SliceInfo.Bundle(
                    bundle.text("file"), bundle.text("symbolicName"), bundle.text("version"), bundle.text("sha256")));
        }
        try {
            WorkerInfo worker = new WorkerInfo(
                    (int) fields.number("id", WorkerInfo.MAX_ID), WorkerInfo.requireName(fields.text("name")));
            return new SliceInfo.Member(
                    worker,
                    fields.textOr("version", ""),
                    fields.textOr("javaVersion", ""),
                    fields.list("serves", String.class),
                    bundles,
                    responders(fields),
                    outcomes(fields, worker));
        } catch (IllegalArgumentException e) {
            throw new MalformedSliceException("expected the name of a worker, found none: " + e.getMessage(), e);
        }
    }

    private static List<Responder> responders(Fields worker) throws MalformedSliceException {
        List<Responder> responders = new ArrayList<>();
        for (Fields each : worker.list("responders", Fields.class)) {
            String number = each.text("number");
            require(number.matches("[0-9a-f]{1,16}"), "expected the number of a bundle, found another text");
            responders.add(
                    new Responder(Long.parseUnsignedLong(number, 16), each.text("name"), each.textOr("version", "")));
        }
        return responders;
    }

    private static Map<Long, Noted> outcomes(Fields fields, WorkerInfo worker) throws MalformedSliceException {
        Map<Long, Noted> outcomes = new HashMap<>();
        for (String each : fields.list("outcomes", String.class)) {
            Matcher parts = OUTCOME.matcher(each);
            require(parts.matches(), "expected the outcome of a call of worker %s, found another text", worker.name());
            long counter = Long.parseLong(parts.group(1));
            require(counter <= MessageId.MAX_COUNTER, "expected the counter of an id, found %d", counter);
            long id = MessageId.of(worker.id(), counter);
            outcomes.put(id, new Noted(ErrorCode.of(Integer.parseInt(parts.group(2))), Long.parseLong(parts.group(3))));
        }
        return outcomes;
    }

    /** Reads a number, a text, a list or {@link Fields}; null for any other value. */
    private static Object value(JsonParser json) throws IOException {
        switch (json.currentToken()) {
            case VALUE_NUMBER_INT:
                return json.getLongValue();
            case VALUE_STRING:
                return json.getText();
            case START_ARRAY:
                List<Object> all = new ArrayList<>();
                while (json.nextToken() != JsonToken.END_ARRAY) {
                    all.add(value(json));
                    require(all.size() <= MAX_ENTRIES, "expected at most %d entries, found more", MAX_ENTRIES);
                }
                return all;
            case START_OBJECT:
                Map<String, Object> fields = new HashMap<>();
                while (json.nextToken() == JsonToken.FIELD_NAME) {
                    String name = json.currentName();
                    json.nextToken();
                    fields.put(name, value(json));
                }
                return new Fields(fields);
            default:
                json.skipChildren();
                return null;
        }
    }

    /** The fields of an object. Unknown ones are ignored. */
    private record Fields(Map<String, Object> values) {

        long number(String field, long max) throws MalformedSliceException {
            boolean fits = values.get(field) instanceof Long found && found >= 0 && found <= max;
            require(fits, "expected %s from 0 to %d, found %s", field, max, values.get(field));
            return (Long) values.get(field);
        }

        String text(String field) throws MalformedSliceException {
            require(textOr(field, null) != null, "expected %s, found none", field);
            return textOr(field, null);
        }

        String textOr(String field, String otherwise) {
            return values.get(field) instanceof String text ? text : otherwise;
        }

        <T> List<T> list(String field, Class<T> type) throws MalformedSliceException {
            List<?> all = values.get(field) instanceof List<?> found ? found : List.of();
            require(all.stream().allMatch(type::isInstance), "expected %s of one kind, found others", field);
            return all.stream().map(type::cast).toList();
        }
    }
}
