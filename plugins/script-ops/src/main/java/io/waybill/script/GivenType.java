package io.waybill.script;

import io.waybill.api.Value;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.FunctionSchema;
import org.bytedeco.pytorch.Type;
import org.bytedeco.pytorch.global.torch;

/**
 * libtorch's type of a value where the parameter leaves it open, in the language of schemas: {@code int[]},
 * {@code Dict(str, Any)}.
 */
final class GivenType {

    static final String ANY = "Any";

    /** Type of an empty list or dict, as in PyTorch. */
    private static final String EMPTY = "Tensor";

    /** Max cached types; further ones are parsed again each time, because callers determine their number. */
    private static final int MAX_KNOWN = 256;

    private static final Map<String, Type.TypePtr> KNOWN = new ConcurrentHashMap<>();

    private GivenType() {}

    /** Returns the type of a value; null if libtorch has no such value. */
    static String of(Value value) {
        if (value instanceof Value.Items items) {
            String element = items.values().isEmpty() ? EMPTY : common(items.values());
            return element == null ? null : element + "[]";
        } else if (value instanceof Value.Tuple tuple) {
            List<String> elements = tuple.values().stream().map(GivenType::of).toList();
            return elements.stream().anyMatch(java.util.Objects::isNull)
                    ? null
                    : "(" + String.join(", ", elements) + ")";
        } else if (value instanceof Value.Dict dict) {
            return ofDict(dict);
        } else if (value instanceof Value.None) {
            return ANY;
        }
        String text = ScriptValues.describe(value);
        return switch (text) {
            case "Tensor", "int", "float", "bool", "complex", "str", "Device" -> text;
            default -> null;
        };
    }

    private static String ofDict(Value.Dict dict) {
        if (dict.entries().isEmpty()) {
            return "Dict(str, " + EMPTY + ")";
        }
        String key = common(List.copyOf(dict.entries().keySet()));
        String value = common(List.copyOf(dict.entries().values()));
        return value == null || !Dicts.isKeyType(key) ? null : "Dict(" + key + ", " + value + ")";
    }

    /** Returns the common type of values; the type any if they differ. */
    static String common(List<Value> values) {
        String common = of(values.get(0));
        for (Value value : values) {
            String type = of(value);
            if (type == null || common == null) {
                return null;
            }
            common = common.equals(type) ? common : ANY;
        }
        return common;
    }

    /** Returns libtorch's object for a type, which lives as long as the process or belongs to the open scope. */
    @SuppressWarnings("try")
    static Type.TypePtr pointer(String text) {
        Type.TypePtr known = KNOWN.get(text);
        if (known == null) {
            try (PointerScope scope = new PointerScope()) {
                FunctionSchema schema = torch.parseSchema("waybill::of(" + text + " x) -> ()");
                known = new Type.TypePtr(schema.arguments().type());
                known.retainReference();
            }
            if (KNOWN.size() < MAX_KNOWN) {
                KNOWN.putIfAbsent(text, known);
            }
        }
        return known;
    }
}
