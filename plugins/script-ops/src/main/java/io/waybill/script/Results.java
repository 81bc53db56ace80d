package io.waybill.script;

import io.waybill.api.ErrorCode;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.script.source.ElementTypes;
import io.waybill.torch.DescribedResults;
import io.waybill.torch.LeasedTensors;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.DoubleComplex;
import org.bytedeco.pytorch.GenericDict;
import org.bytedeco.pytorch.GenericDictIterator;
import org.bytedeco.pytorch.GenericList;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.TupleElements;

/**
 * Converts the result of an operator on the stack to a value for the response. Tensors of one result that share a
 * storage share it in the value.
 *
 * <p><b>Ownership.</b> Each tensor of the value has a count of its storage, which it transfers to the outbox; if a
 * conversion fails, they are released. Libtorch's memory stays alive through them, the message's own storages by being
 * retained.
 *
 * <p><b>Threads.</b> One.
 */
final class Results {

    private final DescribedResults described;
    private final ScriptCalls calls;

    /** Creates a conversion for an operator. */
    Results(LeasedTensors tensors) {
        this(tensors, null);
    }

    /** Creates a conversion for a function, or for its arguments to another worker. */
    Results(LeasedTensors tensors, ScriptCalls calls) {
        this.described = tensors.results();
        this.calls = calls;
    }

    /** Releases the added counts. */
    void release() {
        described.release();
    }

    /**
     * Converts a result to a value.
     *
     * @param types positions at which an int is the code of an element type
     * @throws RejectedMessageException {@link ErrorCode#REFUSED} if it contains an object that can't be sent
     */
    Value take(IValue result, ElementTypes types) throws RejectedMessageException {
        boolean taken = false;
        try {
            Value value = value(result, types);
            taken = true;
            return value;
        } finally {
            if (!taken) {
                release();
            }
        }
    }

    private Value value(IValue result, ElementTypes types) throws RejectedMessageException {
        if (result.isTensor()) {
            return described.value(result.toTensor());
        } else if (result.isNone()) {
            return Value.NONE;
        } else if (result.isInt()) {
            return types.isOne() ? dtype(result.toInt()) : Value.of(result.toInt());
        } else if (result.isDouble()) {
            return Value.of(result.toDouble());
        } else if (result.isBool()) {
            return Value.of(result.toBool());
        } else if (result.isComplexDouble()) {
            DoubleComplex complex = result.toComplexDouble();
            return new Value.Complex(complex.real(), complex.imag());
        } else if (result.isString()) {
            return Value.of(Signature.text(result.toStringRef()));
        } else if (result.isList()) {
            return list(result.toList(), types);
        } else if (result.isTuple()) {
            return tuple(result.toTupleRef().elements(), types);
        } else if (result.isGenericDict()) {
            return dict(result.toGenericDict(), types);
        } else if (result.isFuture() && calls != null) {
            RRef reference = calls.reference(result.toFuture());
            if (reference != null) {
                return Value.of(reference);
            }
        } else if (result.isDevice()) {
            return Value.of(Device.parse(result.toDevice().str().getString()));
        }
        throw refused("a result of the kind " + result.tagKind().getString());
    }

    private Value list(GenericList list, ElementTypes types) throws RejectedMessageException {
        List<Value> values = new ArrayList<>();
        for (long i = 0; i < list.size(); i++) {
            values.add(value(list.get(i), types.part(0)));
        }
        return new Value.Items(values);
    }

    private Value tuple(TupleElements elements, ElementTypes types) throws RejectedMessageException {
        List<Value> values = new ArrayList<>();
        for (int i = 0; i < elements.size(); i++) {
            values.add(value(elements.at(i), types.part(i)));
        }
        return new Value.Tuple(values);
    }

    private Value dict(GenericDict dict, ElementTypes types) throws RejectedMessageException {
        Map<Value, Value> entries = new LinkedHashMap<>();
        GenericDictIterator at = dict.begin();
        for (long i = 0; i < dict.size(); i++) {
            entries.put(
                    value(at.access().key(), types.part(0)), value(at.access().value(), types.part(1)));
            at.increment();
        }
        return new Value.Dict(entries);
    }

    private static Value dtype(long code) throws RejectedMessageException {
        if (!DType.isKnown((int) code)) {
            throw refused("the element type with the code " + code);
        }
        return Value.of(DType.of((int) code));
    }

    private static RejectedMessageException refused(String what) {
        return new RejectedMessageException(ErrorCode.REFUSED, what + " does not travel");
    }
}
