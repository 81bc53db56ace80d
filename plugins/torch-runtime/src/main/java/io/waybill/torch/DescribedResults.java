package io.waybill.torch;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Storage;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.Layout;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Describes libtorch's tensors as tensors of one message. Tensors that share a storage share it in the message.
 *
 * <p><b>Ownership.</b> Each described tensor has one count of its storage, which is transferred with it, or released
 * here. Libtorch's memory stays alive through them, a message's own storages by being retained. <b>Threads.</b> One.
 */
public final class DescribedResults {

    private final LeasedTensors tensors;
    /** One entry for each added count. */
    private final List<Storage> storages = new ArrayList<>(2);

    private final List<Long> addresses = new ArrayList<>(2);

    DescribedResults(LeasedTensors tensors) {
        this.tensors = tensors;
    }

    /** Releases the added counts. */
    public void release() {
        storages.forEach(Storage::release);
        storages.clear();
        addresses.clear();
    }

    /**
     * Returns the value that describes a tensor; none if it is undefined.
     *
     * @throws RejectedMessageException {@link ErrorCode#REFUSED} if it can't be sent
     */
    public Value value(Tensor result) throws RejectedMessageException {
        if (!result.defined()) {
            return Value.NONE;
        }
        boolean isLive = tensors.keepGraph() || tensors.isEmpty() && result.requires_grad();
        if (!result.is_sparse()) {
            io.waybill.api.tensor.Tensor dense = dense(result, result.requires_grad(), isLive);
            addSide(isLive, dense, result);
            return Value.of(dense);
        }
        io.waybill.api.tensor.Tensor indices = dense(result._indices(), false, isLive);
        io.waybill.api.tensor.Tensor values = dense(result._values(), result.requires_grad(), isLive);
        addSide(isLive, values, result);
        return Value.of(new SparseTensor(indices, values, sizes(result), result.is_coalesced()));
    }

    private static void addSide(boolean isLive, io.waybill.api.tensor.Tensor tensor, Tensor live) {
        if (isLive) {
            ((NativeStorage) tensor.storage()).add(tensor, live);
        }
    }

    private static long[] sizes(Tensor result) {
        long[] sizes = new long[(int) result.dim()];
        for (int i = 0; i < sizes.length; i++) {
            sizes[i] = result.size(i);
        }
        return sizes;
    }

    private io.waybill.api.tensor.Tensor dense(Tensor result, boolean requiresGrad, boolean isLive)
            throws RejectedMessageException {
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
        Storage storage = storage(plain, isLive);
        try {
            return new io.waybill.api.tensor.Tensor(
                    dtype, sizes, strides, plain.storage_offset(), requiresGrad, storage);
        } catch (IllegalArgumentException e) {
            // Some of libtorch's internal operators do not check their arguments.
            throw new RejectedMessageException(ErrorCode.REFUSED, "the result does not travel: " + e.getMessage(), e);
        }
    }

    private Storage storage(Tensor result, boolean isLive) {
        org.bytedeco.pytorch.Storage storage = result.storage();
        Pointer data = storage.data();
        long address = data == null ? 0 : data.address();
        for (int i = 0; i < storages.size(); i++) {
            if (addresses.get(i) == address && (!isLive || storages.get(i) instanceof NativeStorage)) {
                return counted(storages.get(i).retain(), address);
            }
        }
        // A native side needs a storage that carries it.
        Storage mine = isLive ? null : tensors.storageAt(address);
        return counted(mine == null ? new NativeStorage(result, address, storage.nbytes()) : mine.retain(), address);
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
        if (!(result.is_cpu() || result.is_cuda()) || result._is_zerotensor()) {
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
