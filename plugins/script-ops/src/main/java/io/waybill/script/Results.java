package io.waybill.script;

import io.waybill.api.ErrorCode;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Storage;
import io.waybill.script.tensor.LeasedTensors;
import io.waybill.script.tensor.TorchStorage;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.DoubleComplex;
import org.bytedeco.pytorch.GenericDict;
import org.bytedeco.pytorch.GenericDictIterator;
import org.bytedeco.pytorch.GenericList;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TupleElements;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.Layout;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Converts the result of an operator on the stack to a value for the response. Tensors of one result that share a
 * storage share it in the value.
 *
 * <p><b>Ownership.</b> Each tensor of the value brings one count of its storage, which goes to the outbox with it; when
 * a conversion fails they are released. Libtorch's memory stays alive through them, the message's own storages by being
 * retained.
 *
 * <p><b>Threads.</b> One.
 */
final class Results {

    private final LeasedTensors tensors;
    /** One entry for each count that was taken. */
    private final List<Storage> storages = new ArrayList<>(2);

    private final List<Long> addresses = new ArrayList<>(2);

    private final ScriptCalls calls;

    /** Creates a conversion for an operator. */
    Results(LeasedTensors tensors) {
        this(tensors, null);
    }

    /** Creates a conversion for a function, or for its arguments to another worker. */
    Results(LeasedTensors tensors, ScriptCalls calls) {
        this.tensors = tensors;
        this.calls = calls;
    }

    /** Releases the counts that were taken. */
    void release() {
        storages.forEach(Storage::release);
        storages.clear();
    }

    /**
     * The value.
     *
     * @param isDType whether an int is the code of an element type
     * @throws RejectedMessageException {@link ErrorCode#REFUSED} when it holds something that does not travel
     */
    Value take(IValue result, boolean isDType) throws RejectedMessageException {
        boolean taken = false;
        try {
            Value value = isDType && result.isInt() ? dtype(result.toInt()) : value(result);
            taken = true;
            return value;
        } finally {
            if (!taken) {
                release();
            }
        }
    }

    private Value value(IValue result) throws RejectedMessageException {
        if (result.isTensor()) {
            Tensor tensor = result.toTensor();
            return tensor.defined() ? anyTensor(tensor) : Value.NONE;
        } else if (result.isNone()) {
            return Value.NONE;
        } else if (result.isInt()) {
            return Value.of(result.toInt());
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
            return list(result.toList());
        } else if (result.isTuple()) {
            return tuple(result.toTupleRef().elements());
        } else if (result.isGenericDict()) {
            return dict(result.toGenericDict());
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

    private Value list(GenericList list) throws RejectedMessageException {
        List<Value> values = new ArrayList<>();
        for (long i = 0; i < list.size(); i++) {
            values.add(value(list.get(i)));
        }
        return new Value.Items(values);
    }

    private Value tuple(TupleElements elements) throws RejectedMessageException {
        List<Value> values = new ArrayList<>();
        for (long i = 0; i < elements.size(); i++) {
            values.add(value(elements.at(i)));
        }
        return new Value.Tuple(values);
    }

    private Value dict(GenericDict dict) throws RejectedMessageException {
        Map<Value, Value> entries = new LinkedHashMap<>();
        GenericDictIterator at = dict.begin();
        for (long i = 0; i < dict.size(); i++) {
            entries.put(value(at.access().key()), value(at.access().value()));
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

    private Value anyTensor(Tensor result) throws RejectedMessageException {
        return result.is_sparse() ? Value.of(sparse(result)) : Value.of(dense(result, result.requires_grad()));
    }

    private SparseTensor sparse(Tensor result) throws RejectedMessageException {
        io.waybill.api.tensor.Tensor indices = dense(result._indices(), false);
        io.waybill.api.tensor.Tensor values = dense(result._values(), result.requires_grad());
        return new SparseTensor(indices, values, sizes(result), result.is_coalesced());
    }

    private static long[] sizes(Tensor result) {
        long[] sizes = new long[(int) result.dim()];
        for (int i = 0; i < sizes.length; i++) {
            sizes[i] = result.size(i);
        }
        return sizes;
    }

    private io.waybill.api.tensor.Tensor dense(Tensor result, boolean requiresGrad) throws RejectedMessageException {
        requirePlain(result);
        Tensor plain = result;
        if (plain.is_conj()) {
            plain = torch.resolve_conj(plain);
        }
        if (plain.is_neg()) {
            plain = torch.resolve_neg(plain);
        }
        long[] sizes = sizes(plain);
        long[] strides = new long[sizes.length];
        for (int i = 0; i < strides.length; i++) {
            strides[i] = plain.stride(i);
        }
        DType dtype = DType.of(plain.scalar_type().value);
        Storage storage = storage(plain);
        try {
            return new io.waybill.api.tensor.Tensor(
                    dtype, sizes, strides, plain.storage_offset(), requiresGrad, storage);
        } catch (IllegalArgumentException e) {
            // Some of libtorch's internal operators do not check their arguments.
            throw new RejectedMessageException(ErrorCode.REFUSED, "the result does not travel: " + e.getMessage(), e);
        }
    }

    private Storage storage(Tensor result) {
        org.bytedeco.pytorch.Storage storage = result.storage();
        Pointer data = storage.data();
        long address = data == null ? 0 : data.address();
        for (int i = 0; i < storages.size(); i++) {
            if (addresses.get(i) == address) {
                return counted(storages.get(i).retain(), address);
            }
        }
        Storage mine = tensors.storageAt(address);
        return counted(mine == null ? new TorchStorage(result, address, storage.nbytes()) : mine.retain(), address);
    }

    private Storage counted(Storage storage, long address) {
        storages.add(storage);
        addresses.add(address);
        return storage;
    }

    private static void requirePlain(Tensor result) throws RejectedMessageException {
        Layout layout = result.layout().intern();
        if (layout != Layout.Strided) {
            throw refused("a tensor with the layout " + layout);
        }
        if (!result.is_cpu() || result._is_zerotensor()) {
            throw refused("a tensor on the device " + result.device().str().getString() + " without bytes here");
        }
        ScalarType type = result.scalar_type();
        if (!DType.isKnown(type.value)) {
            throw refused("a tensor with elements of the type " + type);
        }
    }

    private static RejectedMessageException refused(String what) {
        return new RejectedMessageException(ErrorCode.REFUSED, what + " does not travel");
    }
}
