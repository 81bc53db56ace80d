package io.waybill.cli.conformance.format;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads JSON that is not trusted: of bounded size and depth, without names that come twice, and nothing behind it. Stateless. */
public final class DatumReader {

    /** Largest file. */
    public static final int MAX_BYTES = 16 << 20;

    private static final int MAX_DEPTH = 64;

    private static final JsonFactory FACTORY = JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(MAX_DEPTH)
                    .maxDocumentLength(MAX_BYTES)
                    .maxStringLength(1 << 20)
                    .maxNumberLength(64)
                    .build())
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    private DatumReader() {}

    /** A file's content. */
    public static Datum read(Path file) throws IOException, FormatException {
        if (!Files.exists(file)) {
            throw new FormatException("no file " + file);
        }
        if (!Files.isRegularFile(file)) {
            throw new FormatException("expected a regular file: " + file);
        }
        if (Files.size(file) > MAX_BYTES) {
            throw new FormatException(
                    file + " has " + Files.size(file) + " bytes; a file of cases has at most " + MAX_BYTES);
        }
        try (JsonParser json = FACTORY.createParser(file.toFile())) {
            return whole(json);
        } catch (FormatException e) {
            throw e.at(file.toString());
        }
    }

    /** A text's content. */
    public static Datum read(String text) throws FormatException {
        try (JsonParser json = FACTORY.createParser(text)) {
            return whole(json);
        } catch (IOException e) {
            throw new FormatException(e.getMessage(), e);
        }
    }

    private static Datum whole(JsonParser json) throws IOException, FormatException {
        try {
            json.nextToken();
            Datum datum = datum(json);
            if (json.nextToken() != null) {
                throw new FormatException("expected the end at line "
                        + json.currentTokenLocation().getLineNr() + ", found more");
            }
            return datum;
        } catch (JsonProcessingException e) {
            throw new FormatException("no JSON" + place(e.getLocation()) + ": " + e.getOriginalMessage(), e);
        }
    }

    private static String place(JsonLocation location) {
        return location == null ? "" : " at line " + location.getLineNr() + ", column " + location.getColumnNr();
    }

    private static Datum datum(JsonParser json) throws IOException, FormatException {
        JsonToken token = json.currentToken();
        if (token == null) {
            throw new FormatException("expected JSON, found the end");
        }
        switch (token) {
            case START_OBJECT:
                return object(json);
            case START_ARRAY:
                List<Datum> values = new ArrayList<>();
                while (json.nextToken() != JsonToken.END_ARRAY) {
                    values.add(datum(json));
                }
                return new Datum.Row(values);
            case VALUE_STRING:
                return new Datum.Text(json.getText());
            case VALUE_NUMBER_INT:
                return new Datum.Whole(json.getLongValue());
            case VALUE_NUMBER_FLOAT:
                return new Datum.Real(json.getDoubleValue());
            case VALUE_TRUE:
            case VALUE_FALSE:
                return new Datum.Truth(token == JsonToken.VALUE_TRUE);
            default:
                return Datum.NULL;
        }
    }

    private static Datum object(JsonParser json) throws IOException, FormatException {
        Map<String, Datum> fields = new LinkedHashMap<>();
        while (json.nextToken() != JsonToken.END_OBJECT) {
            String name = json.currentName();
            json.nextToken();
            fields.put(name, datum(json));
        }
        return new Datum.Record(fields);
    }
}
