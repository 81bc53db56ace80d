package io.waybill.worker.reference;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RRef;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.handling.OutgoingResponse;
import io.waybill.kept.KeptValue;
import io.waybill.rref.OwnedValue;
import io.waybill.rref.RRefErrors;
import io.waybill.rref.id.ForkTable;
import io.waybill.rref.id.RRefId;
import io.waybill.tensor.DeviceCopy;
import io.waybill.worker.peer.CallErrors;
import io.waybill.worker.peer.TensorTransit;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * A value that this worker owns: its bytes in wire format, its tensors, and its references. The tensors, also those on
 * a device, are in the worker's own segments, from which they are sent without another copy; tensors in live storages
 * stay there. It may also be kept on the disk.
 *
 * <p><b>Threads.</b> Any; immutable apart from being kept. <b>Ownership.</b> Holds one count of each storage, each
 * reference, and its file, until it is closed.
 */
public final class StoredValue implements OwnedValue {

    private static final int COPY_BYTES = 1 << 26;

    private final byte[] payload;
    private final List<Tensor> tensors;
    private final List<Storage> storages;
    private final List<ReferenceHandle> references;
    private ValueKeeper keeper; // guarded by this; null until it is kept
    // Written by the thread that keeps the value, read by the threads that list or close it; null until it is kept.
    private volatile RRefId keptAs;

    private StoredValue(
            byte[] payload, List<Tensor> tensors, List<Storage> storages, List<ReferenceHandle> references) {
        this.payload = payload;
        this.tensors = tensors;
        this.storages = storages;
        this.references = references;
    }

    /**
     * Copies a value; the caller keeps the original. Tensors over {@linkplain Storage#isLive live} storages are kept as
     * they are.
     *
     * @throws CallException when there is no room, or a tensor on a device can't be copied
     */
    static StoredValue copy(
            byte[] array, int length, List<Tensor> tensors, List<? extends RRef> references, TensorTransit transit) {
        List<ReferenceHandle> held = hold(references);
        Map<Storage, Storage> copies = new IdentityHashMap<>();
        List<Storage> storages = new ArrayList<>(tensors.size());
        List<Tensor> copied = new ArrayList<>(tensors.size());
        try {
            for (Tensor tensor : tensors) {
                Storage copy = copies.get(tensor.storage());
                if (copy == null) {
                    copy = tensor.storage().isLive() ? tensor.storage().retain() : copy(tensor.storage(), transit);
                    storages.add(copy);
                    copies.put(tensor.storage(), copy);
                }
                copied.add(copy == tensor.storage() ? tensor : moved(tensor, copy));
            }
        } catch (RuntimeException | Error e) { // storages are a converter's or a program's
            storages.forEach(Storage::release);
            held.forEach(ReferenceHandle::close);
            throw e;
        }
        return new StoredValue(Arrays.copyOf(array, length), List.copyOf(copied), List.copyOf(storages), held);
    }

    private static Tensor moved(Tensor tensor, Storage to) {
        return new Tensor(
                tensor.dtype(), tensor.sizes(), tensor.strides(), tensor.storageOffset(), tensor.requiresGrad(), to);
    }

    private static List<ReferenceHandle> hold(List<? extends RRef> references) {
        if (references.size() > ForkTable.MAX_REFERENCES) {
            throw CallErrors.refused(
                    ErrorCode.REFUSED,
                    "a value holds at most " + ForkTable.MAX_REFERENCES + " references: " + references.size());
        }
        return ReferenceHandle.all(references, ReferenceHandle::retainInValue);
    }

    /** Creates a value that an earlier incarnation kept, and becomes the owner of its storages. */
    static StoredValue restored(KeptValue kept, ValueKeeper keeper) {
        StoredValue restored = new StoredValue(kept.payload(), kept.tensors(), kept.storages(), List.of());
        restored.isKeptAs(kept.id(), keeper);
        return restored;
    }

    private synchronized void isKeptAs(RRefId id, ValueKeeper by) {
        keeper = by;
        keptAs = id;
    }

    private static Storage copy(Storage source, TensorTransit transit) {
        Device device = source.device();
        return device.isCpu()
                ? copy(source, transit.pool())
                : new DeviceCopy(device, transit.sender().toHost(source).orElseGet(() -> copy(source, transit.pool())));
    }

    private static Storage copy(Storage source, TensorBuffers buffers) {
        Storage copy = buffers.allocate(source.sizeBytes());
        for (long at = 0; at < source.sizeBytes(); at += COPY_BYTES) {
            int length = (int) Math.min(COPY_BYTES, source.sizeBytes() - at);
            copy.bytes(at, length).put(source.bytes(at, length));
        }
        return copy;
    }

    public ByteBuffer payload() {
        return ByteBuffer.wrap(payload).asReadOnlyBuffer();
    }

    public List<Tensor> tensors() {
        return tensors;
    }

    public List<ReferenceHandle> references() {
        return references;
    }

    /**
     * Makes this value the response, which gets counts and handles of its own.
     *
     * @throws CallException when a reference in the value has failed
     */
    public void putInto(OutgoingResponse response) {
        List<ReferenceHandle> taken = ReferenceHandle.all(references, ReferenceHandle::retain);
        tensors.forEach(tensor -> tensor.storage().retain());
        response.raw(payload(), tensors, taken);
    }

    /**
     * Writes the value to the disk; it is durable on return. Idempotent. The caller prevents that it is closed
     * meanwhile.
     *
     * @throws CallException when it can't be written
     */
    synchronized void keep(RRefId id, String type, ValueKeeper by) {
        if (!references.isEmpty()) {
            throw RRefErrors.notKept(id, "it holds references, which end with the process of their holder");
        }
        if (DeviceCopy.isAmong(tensors)) {
            throw RRefErrors.notKept(id, "it holds tensors on a device, and a file does not say which");
        }
        if (keptAs == null) {
            by.write(new KeptValue(id, type, payload, tensors));
            isKeptAs(id, by);
        }
    }

    @Override
    public boolean isKept() {
        return keptAs != null;
    }

    @Override
    public void close() {
        synchronized (this) {
            storages.forEach(Storage::release);
            if (keptAs != null) {
                keeper.forget(keptAs);
            }
        }
        references.forEach(ReferenceHandle::close);
    }

    @Override
    public void closeForNow() {
        storages.forEach(Storage::release);
        references.forEach(ReferenceHandle::close);
    }
}
