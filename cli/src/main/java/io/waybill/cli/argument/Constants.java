package io.waybill.cli.argument;

import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** Words that stand for a value: constants, element types, devices. */
final class Constants {

    private static final Set<String> DEVICE_TYPES = Set.of("cpu", "cuda", "meta", "mps", "xpu");
    private static final Map<String, Value> VALUES = new HashMap<>();

    static {
        VALUES.put("none", Value.NONE);
        VALUES.put("None", Value.NONE);
        VALUES.put("null", Value.NONE);
        VALUES.put("true", Value.of(true));
        VALUES.put("True", Value.of(true));
        VALUES.put("false", Value.of(false));
        VALUES.put("False", Value.of(false));
        for (DType type : DType.values()) {
            VALUES.put(type.torchName(), Value.of(type));
            VALUES.put("torch." + type.torchName(), Value.of(type));
        }
        alias("half", DType.FLOAT16);
        alias("float", DType.FLOAT32);
        alias("double", DType.FLOAT64);
        alias("short", DType.INT16);
        alias("int", DType.INT32);
        alias("long", DType.INT64);
        alias("cfloat", DType.COMPLEX64);
        alias("cdouble", DType.COMPLEX128);
    }

    private Constants() {}

    private static void alias(String name, DType type) {
        VALUES.put(name, Value.of(type));
        VALUES.put("torch." + name, Value.of(type));
    }

    static boolean isReserved(String word) {
        return VALUES.containsKey(word);
    }

    static boolean isDeviceType(String word) {
        return DEVICE_TYPES.contains(word);
    }

    /** Returns the value of a constant; null if the word is none. */
    static Value value(String word) throws ArgumentException {
        Value known = VALUES.get(word);
        if (known != null) {
            return known;
        }
        int colon = word.indexOf(':');
        if (!isDeviceType(colon < 0 ? word : word.substring(0, colon))) {
            return null;
        }
        try {
            return Value.of(Device.parse(word));
        } catch (IllegalArgumentException e) {
            throw new ArgumentException(e.getMessage(), e);
        }
    }
}
