package io.waybill.conformance.cases;

import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.exc.UnrecognizedPropertyException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.waybill.api.MessageType;
import io.waybill.api.tensor.DType;
import io.waybill.injection.InjectionSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;

/**
 * Binds JSON of bounded size and depth to records: without unknown fields, fields that occur twice, coercions and
 * trailing content. Stateless.
 */
public final class CaseJson {

    /** Max size of a file. */
    public static final int MAX_BYTES = 16 << 20;

    private static final int MAX_DEPTH = 64;

    private static final JsonMapper MAPPER = mapper();

    private CaseJson() {}

    private static JsonMapper mapper() {
        StreamReadConstraints limits = StreamReadConstraints.builder()
                .maxNestingDepth(MAX_DEPTH)
                .maxDocumentLength(MAX_BYTES)
                .maxStringLength(1 << 20)
                .maxNumberLength(64)
                .build();
        JsonMapper.Builder mapper = JsonMapper.builder(
                        JsonFactory.builder().streamReadConstraints(limits).build())
                .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                .enable(MapperFeature.ACCEPT_CASE_INSENSITIVE_ENUMS)
                .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
                .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
                .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
                .addModule(new SimpleModule()
                        .addDeserializer(Duration.class, new Parsed<>(TimeText::parse))
                        .addDeserializer(DType.class, new Parsed<>(CaseJson::dtype))
                        .addDeserializer(
                                MessageType.class, new Parsed<>(name -> InjectionSettings.type(name.asText()))));
        for (Class<?> collection : List.of(List.class, Map.class, Set.class)) {
            mapper.withConfigOverride(
                    collection, config -> config.setSetterInfo(JsonSetter.Value.forValueNulls(Nulls.AS_EMPTY)));
        }
        return mapper.build();
    }

    /** Deserializer by a function. */
    private static final class Parsed<T> extends StdDeserializer<T> {
        private static final long serialVersionUID = 1L;

        private final transient Function<JsonNode, T> parse;

        Parsed(Function<JsonNode, T> parse) {
            super(Object.class);
            this.parse = parse;
        }

        @Override
        public T deserialize(JsonParser json, DeserializationContext context) throws IOException {
            try {
                return parse.apply(context.readTree(json));
            } catch (IllegalArgumentException e) {
                throw JsonMappingException.from(json, e.getMessage(), e);
            }
        }
    }

    private static DType dtype(JsonNode name) {
        return List.of(DType.values()).stream()
                .filter(dtype -> dtype.torchName().equals(name.textValue()))
                .findFirst()
                .orElseThrow(() -> new CaseFormatException("no element type is called " + name.asText()));
    }

    static <T> T read(Path file, Class<T> type) throws IOException {
        if (!Files.isRegularFile(file)) {
            throw new CaseFormatException(Files.exists(file) ? "expected a regular file" : "no file");
        }
        if (Files.size(file) > MAX_BYTES) {
            throw new CaseFormatException(
                    "a file of cases has at most " + MAX_BYTES + " bytes, not " + Files.size(file));
        }
        return read(Files.readString(file), type);
    }

    /** Reads a text. */
    public static <T> T read(String text, Class<T> type) {
        try {
            return MAPPER.readValue(text, type);
        } catch (JsonProcessingException e) {
            throw described(e);
        }
    }

    /** Binds a tree to a record. */
    public static <T> T convert(JsonNode json, Class<T> type) {
        try {
            return MAPPER.treeToValue(json, type);
        } catch (JsonProcessingException e) {
            throw described(e);
        }
    }

    /** An object without fields. */
    public static ObjectNode object() {
        return MAPPER.createObjectNode();
    }

    /** The elements of an array, or the value itself. */
    public static List<JsonNode> oneOrMany(JsonNode json) {
        List<JsonNode> elements = new ArrayList<>();
        json.elements().forEachRemaining(elements::add);
        return json.isArray() ? elements : List.of(json);
    }

    /** The names of an object's fields. */
    public static List<String> names(JsonNode json) {
        List<String> names = new ArrayList<>();
        json.fieldNames().forEachRemaining(names::add);
        return names;
    }

    private static CaseFormatException described(JsonProcessingException e) {
        StringBuilder text = new StringBuilder();
        if (e instanceof JsonMappingException mapping && !mapping.getPath().isEmpty()) {
            for (JsonMappingException.Reference part : mapping.getPath()) {
                boolean isField = part.getFieldName() != null;
                String dot = text.isEmpty() ? "" : ".";
                text.append(isField ? dot + part.getFieldName() : "[" + part.getIndex() + "]");
            }
            text.append(": ");
        } else if (e.getLocation() != null && e.getLocation().getLineNr() > 0) {
            text.append("line ").append(e.getLocation().getLineNr()).append(": ");
        }
        if (e instanceof UnrecognizedPropertyException unknown) {
            text.append("unknown field '").append(unknown.getPropertyName()).append("', expected one of ");
            text.append(new TreeSet<>(
                    unknown.getKnownPropertyIds().stream().map(String::valueOf).toList()));
        } else {
            Throwable cause = e.getCause() instanceof IllegalArgumentException ? e.getCause() : e;
            text.append(cause == e ? e.getOriginalMessage() : cause.getMessage());
        }
        return new CaseFormatException(text.toString(), e);
    }
}
