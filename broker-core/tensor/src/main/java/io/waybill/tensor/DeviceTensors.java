package io.waybill.tensor;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * Moves the tensors of a message between host memory and devices as a worker does, for a replay, where no message is
 * sent.
 *
 * <p><b>Threads.</b> Any; the converters are called on the calling thread. <b>Ownership.</b> Each tensor of a result
 * holds one count of its storage; the given ones are released, unless a method throws.
 */
public final class DeviceTensors {

    private final Converters converters;

    public DeviceTensors(Converters converters) {
        this.converters = converters;
    }

    /** Move of one storage. */
    @FunctionalInterface
    interface Move {
        Storage moved(Storage storage, int tensor) throws RejectedMessageException;
    }

    /** Returns whether one of the tensors is on a device. */
    public static boolean isAmong(List<Tensor> tensors) {
        return tensors.stream().anyMatch(tensor -> !tensor.storage().device().isCpu());
    }

    /**
     * Copies tensors on devices to host memory.
     *
     * @param buffers memory for the copies
     * @throws RejectedMessageException thrown by a converter, or when there is none
     */
    public List<Tensor> onHost(List<Tensor> tensors, TensorBuffers buffers) throws RejectedMessageException {
        DeviceMoves moves = new DeviceMoves(converters);
        try {
            return moved(
                    tensors,
                    (storage, tensor) -> storage.device().isCpu()
                            ? storage.retain()
                            : moves.prepare(storage, buffers).orElseGet(storage::retain));
        } finally {
            moves.clear();
        }
    }

    /**
     * Puts the tensors of a request on devices.
     *
     * @param devices one for each tensor, the same for tensors of one storage
     * @throws RejectedMessageException thrown by a converter, or when there is none
     */
    public List<Tensor> onDevices(List<Tensor> tensors, List<Device> devices) throws RejectedMessageException {
        DeviceMoves moves = DeviceMoves.ofRequest(converters);
        try {
            return moved(
                    tensors,
                    (storage, tensor) -> devices.get(tensor).isCpu()
                            ? storage.retain()
                            : moves.allocate(storage, devices.get(tensor)));
        } finally {
            moves.clear();
        }
    }

    /**
     * Moves each storage once. Each tensor of the result holds one count of its storage; the given ones are released.
     */
    static List<Tensor> moved(List<Tensor> tensors, Move move) throws RejectedMessageException {
        Map<Storage, Storage> made = new IdentityHashMap<>();
        List<Tensor> moved = new ArrayList<>(tensors.size());
        try {
            for (int i = 0; i < tensors.size(); i++) {
                Tensor tensor = tensors.get(i);
                Storage known = made.get(tensor.storage());
                Storage storage = known == null ? move.moved(tensor.storage(), i) : known.retain();
                made.put(tensor.storage(), storage);
                moved.add(new Tensor(
                        tensor.dtype(),
                        tensor.sizes(),
                        tensor.strides(),
                        tensor.storageOffset(),
                        tensor.requiresGrad(),
                        storage));
            }
        } catch (RejectedMessageException | RuntimeException | Error e) {
            Storages.releaseAll(moved);
            throw e;
        }
        Storages.releaseAll(tensors);
        return moved;
    }
}
