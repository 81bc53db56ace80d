package io.waybill.home;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import io.waybill.api.WorkerInfo;
import io.waybill.home.error.HomeException;
import io.waybill.home.error.MalformedHomeFileException;
import io.waybill.home.identity.Groups;
import io.waybill.home.identity.Reachability;
import io.waybill.host.ProcessIdentity;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Codec of {@link WorkerRecord}s as JSON. Input is untrusted: sizes, counts and ranges are checked, nothing is guessed.
 *
 * <p><b>Threads.</b> Stateless.
 */
final class WorkerRecordJson {
    /** Max size of a {@code worker.json}. */
    static final int MAX_BYTES = 64 << 10;

    private static final int FORMAT = 1;
    private static final String LOCAL = "local";
    private static final String REMOTE = "remote";
    private static final int MAX_ENTRIES = 4096;
    private static final int MAX_STRING = 4096;
    private static final JsonFactory JSON = JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(16)
                    .maxStringLength(MAX_STRING)
                    .maxNameLength(MAX_STRING)
                    .maxNumberLength(32)
                    .maxDocumentLength(MAX_BYTES)
                    .build())
            .build();

    private WorkerRecordJson() {}

    /**
     * Encodes a record.
     *
     * @throws HomeException when it would be larger than readers accept
     */
    static byte[] write(WorkerRecord record) throws HomeException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(1024);
        try (JsonGenerator json = JSON.createGenerator(bytes)) {
            json.writeStartObject();
            json.writeNumberField("format", FORMAT);
            json.writeNumberField("id", record.id());
            json.writeStringField("name", record.name());
            json.writeStringField("state", record.state().name());
            json.writeNumberField("pid", record.process().pid());
            json.writeNumberField("startTime", record.process().startTime());
            json.writeStringField("bootId", record.process().bootId());
            json.writeStringField("pidNamespace", record.process().pidNamespace());
            json.writeNumberField("uid", record.process().uid());
            json.writeNumberField("joinedAtMs", record.joinedAtMs());
            json.writeStringField("version", record.version());
            json.writeStringField("javaVersion", record.javaVersion());
            json.writeNumberField("generation", record.epoch());
            writeList("serves", record.serves(), json);
            writeList("atLeastOnce", record.atLeastOnce(), json);
            writeReachability(record.reachability(), json);
            writeList("groups", record.groups().names(), json);
            json.writeObjectFieldStart("settings");
            for (Map.Entry<String, String> setting : record.settings().entrySet()) {
                json.writeStringField(setting.getKey(), setting.getValue());
            }
            json.writeEndObject();
            json.writeEndObject();
        } catch (IOException e) {
            throw new IllegalStateException("JSON into memory failed", e);
        }
        if (bytes.size() > MAX_BYTES
                || record.serves().size() > MAX_ENTRIES
                || record.atLeastOnce().size() > MAX_ENTRIES
                || record.settings().size() > MAX_ENTRIES) {
            throw new HomeException("worker " + record.name() + " has too much to say of itself: " + bytes.size()
                    + " bytes, " + record.serves().size() + " types; at most " + MAX_BYTES + " bytes and " + MAX_ENTRIES
                    + " types are read");
        }
        return bytes.toByteArray();
    }

    private static void writeReachability(Reachability reachability, JsonGenerator json) throws IOException {
        json.writeStringField("reachability", reachability.isLocal() ? LOCAL : REMOTE);
        if (!reachability.isLocal()) {
            json.writeStringField("carrier", reachability.carrier());
        }
    }

    private static void writeList(String field, List<String> texts, JsonGenerator json) throws IOException {
        json.writeArrayFieldStart(field);
        for (String text : texts) {
            json.writeString(text);
        }
        json.writeEndArray();
    }

    /**
     * Decodes a record.
     *
     * @param source origin of the bytes, for the message
     */
    static WorkerRecord read(byte[] bytes, Object source) throws MalformedHomeFileException {
        Fields fields = new Fields(source);
        try (JsonParser json = JSON.createParser(bytes)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                throw new MalformedHomeFileException(source + ": expected a JSON object");
            }
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String field = json.currentName();
                json.nextToken();
                fields.read(field, json);
            }
            if (json.currentToken() != JsonToken.END_OBJECT) {
                throw new MalformedHomeFileException(source + ": expected the end of the JSON object");
            }
        } catch (MalformedHomeFileException e) {
            throw e;
        } catch (IOException e) {
            // Jackson's text quotes the content; the position of the failure is enough
            throw new MalformedHomeFileException(source + ": no JSON of a worker, " + bytes.length + " bytes", e);
        }
        return fields.toRecord();
    }

    /** Fields that were read so far. Used by one thread. */
    private static final class Fields {
        private final Object source;
        private final Map<String, Long> numbers = new LinkedHashMap<>();
        private final Map<String, String> texts = new LinkedHashMap<>();
        private List<String> serves = List.of();
        private List<String> atLeastOnce = List.of();
        private List<String> groups = List.of();
        private Map<String, String> settings = Map.of();

        Fields(Object source) {
            this.source = source;
        }

        void read(String field, JsonParser json) throws IOException {
            switch (field) {
                case "format", "id", "pid", "startTime", "uid", "joinedAtMs", "generation" -> {
                    expect(json, JsonToken.VALUE_NUMBER_INT, field);
                    numbers.put(field, json.getLongValue());
                }
                case "name", "state", "bootId", "pidNamespace", "version", "javaVersion", "reachability", "carrier" -> {
                    expect(json, JsonToken.VALUE_STRING, field);
                    texts.put(field, json.getText());
                }
                case "serves" -> serves = readList(json, field);
                case "atLeastOnce" -> atLeastOnce = readList(json, field);
                case "groups" -> groups = readList(json, field);
                case "settings" -> settings = readMap(json);
                default -> json.skipChildren();
            }
        }

        private List<String> readList(JsonParser json, String field) throws IOException {
            expect(json, JsonToken.START_ARRAY, field);
            List<String> list = new ArrayList<>();
            while (json.nextToken() != JsonToken.END_ARRAY) {
                expect(json, JsonToken.VALUE_STRING, field);
                requireRoom(list.size(), field);
                list.add(json.getText());
            }
            return list;
        }

        private Map<String, String> readMap(JsonParser json) throws IOException {
            expect(json, JsonToken.START_OBJECT, "settings");
            Map<String, String> map = new LinkedHashMap<>();
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String key = json.currentName();
                json.nextToken();
                expect(json, JsonToken.VALUE_STRING, "settings");
                requireRoom(map.size(), "settings");
                map.put(key, json.getText());
            }
            return map;
        }

        private void requireRoom(int count, String field) throws MalformedHomeFileException {
            if (count == MAX_ENTRIES) {
                throw new MalformedHomeFileException(source + ": more than " + MAX_ENTRIES + " " + field);
            }
        }

        private void expect(JsonParser json, JsonToken token, String field) throws MalformedHomeFileException {
            if (json.currentToken() != token) {
                throw new MalformedHomeFileException(
                        source + ": expected " + token + " as " + field + ", found " + json.currentToken());
            }
        }

        WorkerRecord toRecord() throws MalformedHomeFileException {
            try {
                return readRecord();
            } catch (IllegalArgumentException e) { // a name, a group or a reachability
                throw new MalformedHomeFileException(source + ": " + e.getMessage(), e);
            }
        }

        private WorkerRecord readRecord() throws MalformedHomeFileException {
            long format = number("format", 1, Long.MAX_VALUE);
            if (format != FORMAT) {
                throw new MalformedHomeFileException(
                        source + ": has format " + format + "; this version reads " + FORMAT);
            }
            ProcessIdentity process = new ProcessIdentity(
                    number("pid", 1, Integer.MAX_VALUE),
                    number("startTime", 0, Long.MAX_VALUE),
                    text("bootId"),
                    text("pidNamespace"),
                    (int) number("uid", Integer.MIN_VALUE, 0xffffffffL));
            return new WorkerRecord(
                    (int) number("id", 0, WorkerInfo.MAX_ID),
                    WorkerInfo.requireName(text("name")),
                    state(),
                    process,
                    number("joinedAtMs", 0, Long.MAX_VALUE),
                    text("version"),
                    text("javaVersion"),
                    number("generation", 1, Long.MAX_VALUE),
                    serves,
                    atLeastOnce,
                    reachability(),
                    new Groups(groups),
                    settings);
        }

        /** Returns the reachability; a worker of an earlier version is local. */
        private Reachability reachability() {
            String how = texts.getOrDefault("reachability", LOCAL);
            String carrier = texts.getOrDefault("carrier", "");
            if (!how.equals(carrier.isEmpty() ? LOCAL : REMOTE)) {
                throw new IllegalArgumentException("expected the reachability local, or remote with a carrier, found '"
                        + how + "' with a carrier's name of " + carrier.length() + " characters");
            }
            return new Reachability(carrier);
        }

        private WorkerState state() throws MalformedHomeFileException {
            try {
                return WorkerState.valueOf(text("state"));
            } catch (IllegalArgumentException e) {
                throw new MalformedHomeFileException(source + ": unknown state " + text("state"), e);
            }
        }

        private long number(String field, long min, long max) throws MalformedHomeFileException {
            Long value = numbers.get(field);
            if (value == null || value < min || value > max) {
                throw new MalformedHomeFileException(
                        source + ": expected " + field + " from " + min + " to " + max + ", found " + value);
            }
            return value;
        }

        private String text(String field) throws MalformedHomeFileException {
            String value = texts.get(field);
            if (value == null) {
                throw new MalformedHomeFileException(source + ": expected " + field + ", found none");
            }
            return value;
        }
    }
}
