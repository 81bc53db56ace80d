package io.waybill.script;

import io.waybill.api.Value;
import io.waybill.api.tensor.Device;
import java.util.List;

/** Describes values in terms of TorchScript's types. */
final class ScriptValues {

    private ScriptValues() {}

    /** Returns the elements of a list or a tuple; null if the value is neither. */
    static List<Value> elements(Value value) {
        if (value instanceof Value.Items items) {
            return items.values();
        }
        return value instanceof Value.Tuple tuple ? tuple.values() : null;
    }

    static boolean isTensor(Value value) {
        return value instanceof Value.OfTensor || value instanceof Value.OfSparse;
    }

    static boolean isNumber(Value value) {
        return value instanceof Value.Int
                || value instanceof Value.Float
                || value instanceof Value.Bool
                || value instanceof Value.Complex;
    }

    static boolean isDeviceText(Value value) {
        if (!(value instanceof Value.Text text)) {
            return false;
        }
        try {
            Device.parse(text.value());
            return true;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    /** Describes a value in the words of a schema. */
    static String describe(Value value) {
        if (isTensor(value)) {
            return "Tensor";
        } else if (value instanceof Value.Int) {
            return "int";
        } else if (value instanceof Value.Float) {
            return "float";
        } else if (value instanceof Value.Bool) {
            return "bool";
        } else if (value instanceof Value.Complex) {
            return "complex";
        } else if (value instanceof Value.Text) {
            return "str";
        } else if (value instanceof Value.None) {
            return "None";
        } else if (value instanceof Value.OfDevice) {
            return "Device";
        } else if (value instanceof Value.OfDType) {
            return "ScalarType";
        } else if (value instanceof Value.Binary) {
            return "bytes";
        } else if (value instanceof Value.Dict) {
            return "dict";
        } else if (value instanceof Value.OfRRef) {
            return "RRef";
        }
        List<Value> values = elements(value);
        List<String> kinds = values.stream()
                .limit(100)
                .map(ScriptValues::describe)
                .distinct()
                .toList();
        return (value instanceof Value.Tuple ? "tuple" : "list") + " of " + values.size()
                + (kinds.isEmpty() ? "" : " " + String.join("/", kinds));
    }
}
