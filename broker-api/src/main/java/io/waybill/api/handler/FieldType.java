package io.waybill.api.handler;

import io.waybill.api.RecordCodec;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Tensor;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Type of a described argument or result field, in the terms of the values that messages carry. */
public enum FieldType {
    TEXT,
    INTEGER,
    /** A floating-point number; handlers that read one accept an integer, too. */
    REAL,
    BOOLEAN,
    BYTES,
    LIST,
    DICT,
    TENSOR,
    /** A value of another kind, such as a reference, a device or an element type, or of several kinds. */
    ANY;

    private static final Set<Class<?>> INTEGERS =
            Set.of(int.class, Integer.class, long.class, Long.class, Instant.class);

    /** Returns the type of the value to which {@link RecordCodec} converts a component of this type. */
    static FieldType of(Type component) {
        if (component instanceof ParameterizedType generic) {
            return generic.getRawType() == List.class ? LIST : generic.getRawType() == Map.class ? DICT : ANY;
        }
        return component instanceof Class<?> type ? of(type) : ANY;
    }

    private static FieldType of(Class<?> type) {
        if (type == Device.class || type == DType.class) { // a record and an enum with values of their own
            return ANY;
        } else if (type == String.class || type.isEnum()) {
            return TEXT;
        } else if (INTEGERS.contains(type)) {
            return INTEGER;
        } else if (type == double.class || type == Double.class) {
            return REAL;
        } else if (type == boolean.class || type == Boolean.class) {
            return BOOLEAN;
        } else if (type == byte[].class) {
            return BYTES;
        } else if (type == Tensor.class) {
            return TENSOR;
        }
        return type.isRecord() ? DICT : ANY;
    }
}
