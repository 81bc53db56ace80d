package io.waybill.cli.conformance.format;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A piece of JSON. Immutable. {@link DatumReader} makes them. */
public sealed interface Datum {

    /** JSON's null. */
    Datum NULL = new Null();

    /** {@link #NULL}. */
    record Null() implements Datum {}

    /** A truth value. */
    record Truth(boolean value) implements Datum {}

    /** A number without a fraction that fits 64 bits. */
    record Whole(long value) implements Datum {}

    /** Any other number. */
    record Real(double value) implements Datum {}

    /** A string. */
    record Text(String value) implements Datum {}

    /** An array. */
    record Row(List<Datum> values) implements Datum {
        public Row {
            values = List.copyOf(values);
        }
    }

    /** An object; no name comes twice. */
    record Record(Map<String, Datum> fields) implements Datum {

        public static final Record EMPTY = new Record(Map.of());

        public Record {
            fields = Collections.unmodifiableMap(new LinkedHashMap<>(fields));
        }
    }

    /** What this is, for an error's text: kinds, and short values themselves. */
    default String described() {
        if (this instanceof Row row) {
            return "an array of " + row.values().size();
        } else if (this instanceof Record object) {
            return "an object with " + object.fields().keySet();
        }
        String text = toJson();
        return text.length() > 80 ? text.substring(0, 80) + "…" : text;
    }

    /** As JSON, in one line. */
    default String toJson() {
        StringWriter text = new StringWriter();
        try (JsonGenerator json = new JsonFactory().createGenerator(text)) {
            write(json);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return text.toString();
    }

    /** As JSON. */
    default void write(JsonGenerator json) throws IOException {
        if (this instanceof Truth truth) {
            json.writeBoolean(truth.value);
        } else if (this instanceof Whole whole) {
            json.writeNumber(whole.value);
        } else if (this instanceof Real real) {
            json.writeNumber(real.value);
        } else if (this instanceof Text text) {
            json.writeString(text.value);
        } else if (this instanceof Row row) {
            json.writeStartArray();
            for (Datum value : row.values) {
                value.write(json);
            }
            json.writeEndArray();
        } else if (this instanceof Record object) {
            json.writeStartObject();
            for (Map.Entry<String, Datum> field : object.fields.entrySet()) {
                json.writeFieldName(field.getKey());
                field.getValue().write(json);
            }
            json.writeEndObject();
        } else {
            json.writeNull();
        }
    }
}
