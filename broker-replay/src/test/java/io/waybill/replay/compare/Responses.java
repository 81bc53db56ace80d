package io.waybill.replay.compare;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageType;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.tensor.Tensor;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Makes responses for tests. Stateless. */
final class Responses {

    private Responses() {}

    static ComparedResponse of(Value value) {
        ValueEncoder encoder = new ValueEncoder().value(value);
        return new ComparedResponse(
                MessageType.NAMED_RET,
                encoder.toBytes(),
                List.copyOf(encoder.tensors()),
                ErrorKind.UNKNOWN_ERROR,
                ErrorCode.UNKNOWN);
    }

    static ComparedResponse of(Tensor tensor) {
        return of(Value.of(tensor));
    }

    static ComparedResponse bytes(int... bytes) {
        byte[] payload = new byte[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            payload[i] = (byte) bytes[i];
        }
        return new ComparedResponse(
                MessageType.NAMED_RET, payload, List.of(), ErrorKind.UNKNOWN_ERROR, ErrorCode.UNKNOWN);
    }

    static ComparedResponse error(ErrorKind kind, ErrorCode code, String text) {
        return new ComparedResponse(
                MessageType.EXCEPTION, text.getBytes(StandardCharsets.UTF_8), List.of(), kind, code);
    }

    /** A dict, in the order of the arguments: key, value, key, value. */
    static Value dict(Object... keysAndValues) {
        Map<Value, Value> entries = new LinkedHashMap<>();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            entries.put(Value.of((String) keysAndValues[i]), (Value) keysAndValues[i + 1]);
        }
        return new Value.Dict(entries);
    }
}
