package io.waybill.script;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.torch.LeasedTensors;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.DoubleComplex;
import org.bytedeco.pytorch.GenericList;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.LongList;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.Tuple;
import org.bytedeco.pytorch.Type;
import org.bytedeco.pytorch.global.torch;

/**
 * libtorch's stack for one call, with its arguments.
 *
 * <p><b>Lifetime.</b> The {@code PointerScope} that is open at its creation frees it with all its objects.
 * <b>Threads.</b> One.
 */
final class CallStack {

    private final IValueVector stack = new IValueVector();
    private final LeasedTensors tensors;
    private final ScriptCalls calls;

    /** Creates a stack for an operator. */
    CallStack(LeasedTensors tensors) {
        this(tensors, null);
    }

    /** Creates a stack for a function, which may call other workers. */
    CallStack(LeasedTensors tensors, ScriptCalls calls) {
        this.tensors = tensors;
        this.calls = calls;
    }

    IValueVector asVector() {
        return stack;
    }

    void push(IValue value) {
        stack.push_back(value);
    }

    /** Pushes a value that fits the parameter. */
    void push(Parameter parameter, Value value) throws RejectedMessageException {
        stack.push_back(convert(parameter.type(), value));
    }

    /**
     * Returns the result of a run, or a tuple of several results in their order.
     *
     * @param count number of results in the schema
     */
    IValue results(int count) {
        if (stack.size() != count) {
            throw new IllegalStateException(
                    "the schema declares " + count + " results, and the run left " + stack.size());
        }
        return count == 1 ? stack.get(0) : new IValue(Tuple.create(stack));
    }

    /** Converts a value that fits the type to libtorch's form. */
    IValue convert(ParameterType type, Value value) throws RejectedMessageException {
        switch (type.kind()) {
            case TENSOR:
                return new IValue(tensor(value));
            case SCALAR:
                return number(value);
            case INT:
            case CODE:
                return new IValue(toLong(value));
            case FLOAT:
                return new IValue(toDouble(value));
            case COMPLEX:
                return new IValue(new Scalar(complex(value)));
            case BOOL:
                return new IValue(((Value.Bool) value).value());
            case STRING:
                return new IValue(new BytePointer(((Value.Text) value).value(), StandardCharsets.UTF_8));
            case DEVICE:
                return new IValue(new Device(deviceText(value)));
            case DTYPE:
                return new IValue(
                        value instanceof Value.OfDType dtype
                                ? (long) dtype.value().code()
                                : toLong(value));
            case OPTIONAL:
                return value instanceof Value.None ? new IValue() : convert(type.element(), value);
            case LIST:
                return list(type, value);
            case TUPLE:
                return tuple(type, value);
            case DICT:
                return dict(type, (Value.Dict) value);
            case GENERATOR:
                return new IValue(torch.createCPUGenerator(toLong(value)));
            case ANY:
                return any(value);
            case REFERENCE:
                return reference(type, (Value.OfRRef) value);
            case UNION:
                return convert(type.choice(value), value);
            case OTHER:
                break;
        }
        throw new IllegalStateException("a value was chosen for a parameter that takes none: " + type);
    }

    private Tensor tensor(Value value) throws RejectedMessageException {
        if (value instanceof Value.OfTensor dense) {
            return tensors.lease(dense.value());
        } else if (value instanceof Value.OfSparse sparse) {
            return tensors.lease(sparse.value());
        }
        return torch.wrapped_scalar_tensor(scalar(value));
    }

    private IValue list(ParameterType type, Value value) throws RejectedMessageException {
        List<Value> values = ScriptValues.elements(value);
        if (values == null) {
            values = java.util.Collections.nCopies(type.fixedLength(), value);
        }
        if (type.element().kind() == ParameterType.Kind.INT) {
            long[] numbers = new long[values.size()];
            for (int i = 0; i < numbers.length; i++) {
                numbers[i] = toLong(values.get(i));
            }
            // Lists of all element types are one pointer to the same kind of object.
            return new IValue(new GenericList(new LongList(numbers)));
        }
        GenericList list =
                new GenericList(type.listType() == null ? GivenType.pointer(elementType(values)) : type.listType());
        list.reserve(values.size());
        for (int i = 0; i < values.size(); i++) {
            list.push_back(convert(type.element(), values.get(i)));
        }
        return new IValue(list);
    }

    private IValue tuple(ParameterType type, Value value) throws RejectedMessageException {
        List<Value> values = ScriptValues.elements(value);
        IValueVector elements = new IValueVector();
        for (int i = 0; i < values.size(); i++) {
            elements.push_back(convert(type.elements().get(i), values.get(i)));
        }
        return new IValue(Tuple.create(elements));
    }

    private static String elementType(Collection<Value> values) {
        return values.isEmpty() ? GivenType.ANY : GivenType.common(List.copyOf(values));
    }

    private IValue dict(ParameterType type, Value.Dict value) throws RejectedMessageException {
        List<IValue> keys = new ArrayList<>();
        List<IValue> values = new ArrayList<>();
        for (Map.Entry<Value, Value> entry : value.entries().entrySet()) {
            keys.add(convert(type.elements().get(0), entry.getKey()));
            values.add(convert(type.elements().get(1), entry.getValue()));
        }
        Type.TypePtr valueType = type.listType() == null
                ? GivenType.pointer(elementType(value.entries().values()))
                : type.listType();
        return Dicts.of(type.elements().get(0).toString(), valueType, keys, values);
    }

    private IValue reference(ParameterType type, Value.OfRRef value) throws RejectedMessageException {
        if (calls == null) {
            throw new RejectedMessageException(
                    ErrorCode.REFUSED,
                    "a reference is an argument for a function: an operator takes the value, with toHere");
        }
        return calls.reference(type, value.value());
    }

    /** Converts a value to its own type. */
    private IValue any(Value value) throws RejectedMessageException {
        if (value instanceof Value.None) {
            return new IValue();
        }
        String text = GivenType.of(value);
        Type given = GivenType.pointer(text).get();
        return convert(ParameterType.of(given, given, 0), value);
    }

    private static IValue number(Value value) {
        if (value instanceof Value.Int integer) {
            return new IValue(integer.value());
        } else if (value instanceof Value.Float real) {
            return new IValue(real.value());
        } else if (value instanceof Value.Bool bool) {
            return new IValue(bool.value());
        }
        return new IValue(scalar(value));
    }

    private static Scalar scalar(Value value) {
        if (value instanceof Value.Int integer) {
            return new Scalar(integer.value());
        } else if (value instanceof Value.Float real) {
            return new Scalar(real.value());
        } else if (value instanceof Value.Bool bool) {
            return new IValue(bool.value()).toScalar();
        }
        return new Scalar(complex(value));
    }

    private static DoubleComplex complex(Value value) {
        return value instanceof Value.Complex complex
                ? new DoubleComplex(complex.real(), complex.imaginary())
                : new DoubleComplex(toDouble(value), 0);
    }

    private static long toLong(Value value) {
        if (value instanceof Value.OfDType dtype) {
            return dtype.value().code();
        }
        return value instanceof Value.Bool bool ? (bool.value() ? 1 : 0) : ((Value.Int) value).value();
    }

    private static double toDouble(Value value) {
        return value instanceof Value.Float real ? real.value() : toLong(value);
    }

    private static String deviceText(Value value) {
        return value instanceof Value.OfDevice device ? device.value().toString() : ((Value.Text) value).value();
    }
}
