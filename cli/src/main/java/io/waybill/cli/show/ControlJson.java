package io.waybill.cli.show;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.RecordCodec;
import io.waybill.api.Value;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Formats the response of a control operation as JSON of a command, with that JSON's names, and {@code since} as a
 * time. Stateless.
 */
public final class ControlJson {

    private static final String SINCE = "since";

    private ControlJson() {}

    public static void write(Record record, JsonGenerator json) throws IOException {
        ValueJson.write(renamed(RecordCodec.encode(record)), json);
    }

    public static void write(List<? extends Record> records, JsonGenerator json) throws IOException {
        ValueJson.write(
                renamed(new Value.Items(
                        records.stream().<Value>map(RecordCodec::encode).toList())),
                json);
    }

    private static Value renamed(Value value) {
        if (value instanceof Value.Items items) {
            return new Value.Items(
                    items.values().stream().map(ControlJson::renamed).toList());
        }
        if (!(value instanceof Value.Dict dict)) {
            return value;
        }
        Map<Value, Value> fields = new LinkedHashMap<>();
        for (Map.Entry<Value, Value> field : dict.entries().entrySet()) {
            Value name = field.getKey() instanceof Value.Text text ? Value.of(snakeCase(text.value())) : field.getKey();
            boolean isTime = name.equals(Value.of(SINCE));
            fields.put(name, isTime ? time(field.getValue()) : renamed(field.getValue()));
        }
        return new Value.Dict(fields);
    }

    private static Value time(Value ns) {
        return ns instanceof Value.Int time && time.value() > 0 ? Value.of(ShownTime.utc(time.value())) : Value.NONE;
    }

    private static String snakeCase(String name) {
        return name.replaceAll("([a-z0-9])([A-Z])", "$1_$2").toLowerCase(Locale.ROOT);
    }
}
