package io.waybill.replay.slice;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import io.waybill.api.WorkerInfo;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** {@link SliceInfo}s as JSON and back. What is read is untrusted: sizes, counts and ranges are checked. Stateless. */
final class SliceInfoJson {

    private static final int MAX_ENTRIES = WorkerInfo.MAX_ID + 1;
    private static final int MAX_STRING = 4096;
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
            json.setPrettyPrinter(new DefaultPrettyPrinter());
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
        json.writeEndObject();
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
            json.nextToken();
            Fields fields = new Fields(json, "slice.json");
            if (json.nextToken() != null) {
                throw new MalformedSliceException("expected the end behind the JSON object, found more");
            }
            return info(fields);
        } catch (MalformedSliceException e) {
            throw e;
        } catch (IOException e) {
            // Jackson's text quotes the content; that it failed is enough
            throw new MalformedSliceException("expected JSON, found " + bytes.length + " other bytes", e);
        }
    }

    private static SliceInfo info(Fields fields) throws MalformedSliceException {
        long format = fields.number("format", Long.MAX_VALUE);
        if (format != SliceLayout.FORMAT) {
            throw new MalformedSliceException(
                    "expected a slice of format " + SliceLayout.FORMAT + ", found format " + format);
        }
        String payloads = fields.text("payloads");
        List<SliceInfo.Member> workers = new ArrayList<>();
        for (Fields worker : fields.objects("workers")) {
            workers.add(member(worker));
        }
        return new SliceInfo(
                Payloads.named(payloads)
                        .orElseThrow(() -> new MalformedSliceException(
                                "expected payloads full, digest or none, found " + payloads)),
                fields.number("calls", Integer.MAX_VALUE),
                fields.number("needed", Integer.MAX_VALUE),
                fields.number("storages", Integer.MAX_VALUE),
                fields.texts("problems"),
                workers);
    }

    private static SliceInfo.Member member(Fields fields) throws MalformedSliceException {
        List<SliceInfo.Bundle> bundles = new ArrayList<>();
        for (Fields bundle : fields.objects("bundles")) {
            bundles.add(new SliceInfo.Bundle(
                    bundle.text("file"), bundle.text("symbolicName"), bundle.text("version"), bundle.text("sha256")));
        }
        try {
            WorkerInfo worker = new WorkerInfo(
                    (int) fields.number("id", WorkerInfo.MAX_ID), WorkerInfo.requireName(fields.text("name")));
            return new SliceInfo.Member(
                    worker, fields.textOr("version"), fields.textOr("javaVersion"), fields.texts("serves"), bundles);
        } catch (IllegalArgumentException e) {
            throw new MalformedSliceException("expected the name of a worker, found none: " + e.getMessage(), e);
        }
    }

    /** The fields of an object that a parser stands at. One thread. */
    private static final class Fields {

        private final Map<String, Long> numbers = new HashMap<>();
        private final Map<String, String> texts = new HashMap<>();
        private final Map<String, List<String>> lists = new HashMap<>();
        private final Map<String, List<Fields>> objects = new HashMap<>();

        Fields(JsonParser json, String what) throws IOException {
            if (json.currentToken() != JsonToken.START_OBJECT) {
                throw new MalformedSliceException("expected an object as " + what + ", found " + json.currentToken());
            }
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String field = json.currentName();
                switch (json.nextToken()) {
                    case VALUE_NUMBER_INT -> numbers.put(field, json.getLongValue());
                    case VALUE_STRING -> texts.put(field, json.getText());
                    case START_ARRAY -> readArray(field, json);
                    default -> json.skipChildren();
                }
            }
            if (json.currentToken() != JsonToken.END_OBJECT) {
                throw new MalformedSliceException("expected the end of " + what + ", found " + json.currentToken());
            }
        }

        private void readArray(String field, JsonParser json) throws IOException {
            List<String> list = new ArrayList<>();
            List<Fields> all = new ArrayList<>();
            for (JsonToken token = json.nextToken(); token != JsonToken.END_ARRAY; token = json.nextToken()) {
                if (token == JsonToken.VALUE_STRING) {
                    list.add(json.getText());
                } else {
                    all.add(new Fields(json, field));
                }
                if (list.size() > MAX_ENTRIES || all.size() > MAX_ENTRIES) {
                    throw new MalformedSliceException("expected at most " + MAX_ENTRIES + " " + field + ", found more");
                }
            }
            lists.put(field, list);
            objects.put(field, all);
        }

        long number(String field, long max) throws MalformedSliceException {
            Long found = numbers.get(field);
            if (found == null || found < 0 || found > max) {
                throw new MalformedSliceException("expected " + field + " from 0 to " + max + ", found " + found);
            }
            return found;
        }

        String text(String field) throws MalformedSliceException {
            String found = texts.get(field);
            if (found == null) {
                throw new MalformedSliceException("expected " + field + ", found none");
            }
            return found;
        }

        String textOr(String field) {
            return texts.getOrDefault(field, "");
        }

        List<String> texts(String field) {
            return lists.getOrDefault(field, List.of());
        }

        List<Fields> objects(String field) {
            return objects.getOrDefault(field, List.of());
        }
    }
}
