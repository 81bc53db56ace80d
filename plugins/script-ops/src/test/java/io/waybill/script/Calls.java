package io.waybill.script;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Tensor;
import io.waybill.testing.core.RecordingOutbox;
import io.waybill.testing.core.TestMessage;
import io.waybill.torch.LibTorch;
import io.waybill.torch.NativeTensors;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.random.RandomGenerator;

/** A handler over real libtorch, and short words for calling it and for reading its responses. */
final class Calls {

    final NativeTensors natives;
    final ScriptEngine engine;
    final ScriptCall handler;

    Calls() {
        this(OperatorPolicy.standard());
    }

    Calls(OperatorPolicy policy) {
        this.natives = new NativeTensors(new LibTorch(Path.of(System.getProperty(LibTorch.NATIVES_PROPERTY)), 1));
        this.engine = new ScriptEngine(natives, policy);
        this.handler = new ScriptCall(engine);
    }

    /** Calls with positional arguments: values, tensors, numbers, strings, or lists of them; null is none. */
    Value call(String name, Object... positional) {
        return call(name, Map.of(), positional);
    }

    Value call(String name, Map<String, Object> named, Object... positional) {
        try {
            return callOrRefuse(name, named, positional);
        } catch (RejectedMessageException e) {
            throw new AssertionError(e.code() + ": " + e.getMessage(), e);
        }
    }

    Value callOrRefuse(String name, Map<String, Object> named, Object... positional) throws RejectedMessageException {
        List<Value> values = new ArrayList<>();
        for (Object argument : positional) {
            values.add(value(argument));
        }
        Map<String, Value> byName = new java.util.LinkedHashMap<>();
        named.forEach((key, argument) -> byName.put(key, value(argument)));
        return callOrRefuse(new Invocation(name, values, byName), new Random());
    }

    Value callOrRefuse(Invocation call, RandomGenerator random) throws RejectedMessageException {
        RecordingOutbox outbox = new RecordingOutbox(null, random);
        handler.handle(TestMessage.of(MessageType.SCRIPT_CALL, call), outbox);
        return outbox.value();
    }

    static Value value(Object argument) {
        if (argument == null) {
            return Value.NONE;
        } else if (argument instanceof Value value) {
            return value;
        } else if (argument instanceof Tensor tensor) {
            return Value.of(tensor);
        } else if (argument instanceof Boolean bool) {
            return Value.of(bool.booleanValue());
        } else if (argument instanceof Integer integer) {
            return Value.of(integer.longValue());
        } else if (argument instanceof Double real) {
            return Value.of(real.doubleValue());
        } else if (argument instanceof String text) {
            return Value.of(text);
        } else if (argument instanceof DType dtype) {
            return Value.of(dtype);
        } else if (argument instanceof List<?> list) {
            return new Value.Items(list.stream().map(Calls::value).toList());
        }
        throw new IllegalArgumentException("no value: " + argument);
    }

    static Tensor tensor(Value value) {
        return ((Value.OfTensor) value).value();
    }

    /** The elements in row-major order, whatever the strides. */
    static double[] elements(Value value) {
        return elements(tensor(value));
    }

    static double[] elements(Tensor tensor) {
        double[] elements = new double[(int) tensor.elementCount()];
        long[] at = new long[tensor.dimensions()];
        for (int i = 0; i < elements.length; i++) {
            long offset = tensor.storageOffset();
            for (int d = 0; d < at.length; d++) {
                offset += at[d] * tensor.stride(d);
            }
            elements[i] = element(tensor, offset);
            for (int d = at.length - 1; d >= 0 && ++at[d] == tensor.size(d); d--) {
                at[d] = 0;
            }
        }
        return elements;
    }

    private static double element(Tensor tensor, long offset) {
        int size = tensor.dtype().sizeBytes();
        ByteBuffer bytes = tensor.storage().bytes(offset * size, size).order(ByteOrder.nativeOrder());
        return switch (tensor.dtype()) {
            case FLOAT32 -> bytes.getFloat(0);
            case FLOAT64 -> bytes.getDouble(0);
            case INT64 -> bytes.getLong(0);
            case INT32 -> bytes.getInt(0);
            case BOOL, UINT8, INT8 -> bytes.get(0);
            default -> throw new IllegalArgumentException("not read here: " + tensor.dtype());
        };
    }
}
