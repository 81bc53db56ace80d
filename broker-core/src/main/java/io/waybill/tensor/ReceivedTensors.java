package io.waybill.tensor;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.tensor.memory.NativeMemory;
import java.util.List;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The tensors of one message, over storages of which it holds one count each.
 *
 * <p><b>Threads.</b> Owned by one at a time; the storages' counts are thread-safe.
 *
 * <p><b>Devices.</b> When a tensor is for a device, {@link #convert} comes before {@link #tensors}: it calls converters of bundles, which
 * may take their time, and therefore belongs on a thread that may wait.
 *
 * <p><b>Lifetime.</b> Inlined storages lie in the private copy of the record. Either {@link #detach} moves them out, before anybody else
 * sees the tensors, and the copy is free from then on; or {@link #release} says whether the copy is free.
 */
public final class ReceivedTensors {

    /** What becomes of the private copy of a record. */
    public enum RecordCopy {
        /** It is unused: the next record may take its place. */
        FREE,
        /** Retained storages lie in it: it is theirs, and the next record needs another one. */
        IN_USE
    }

    /** Puts storages on the devices that they are for. */
    @FunctionalInterface
    interface Conversion {

        /**
         * @param storages in host memory; each is replaced by what it became
         * @return the tensors over them
         */
        List<Tensor> convert(List<Storage> storages) throws RejectedMessageException;
    }

    private static final Logger LOG = LoggerFactory.getLogger(ReceivedTensors.class);

    static final ReceivedTensors NONE = new ReceivedTensors(List.of(), List.of(), List.of(), null, null);

    private List<Tensor> tensors;
    private Conversion conversion; // null when there is none to do
    private final List<Storage> storages;
    private final List<InlineStorage> inlined;
    private final HostMemory memory;
    private final NativeMemory copies;
    private boolean released;

    ReceivedTensors(
            List<Tensor> tensors,
            List<Storage> storages,
            List<InlineStorage> inlined,
            HostMemory memory,
            NativeMemory copies) {
        this.tensors = tensors;
        this.storages = storages;
        this.inlined = inlined;
        this.memory = memory;
        this.copies = copies;
    }

    /** Those of which some are for a device. */
    ReceivedTensors(
            Conversion conversion,
            List<Storage> storages,
            List<InlineStorage> inlined,
            HostMemory memory,
            NativeMemory copies) {
        this(List.of(), storages, inlined, memory, copies);
        this.conversion = conversion;
    }

    /** Whether {@link #convert} is still to come. */
    public boolean isForDevice() {
        return conversion != null;
    }

    /**
     * Puts the storages on the devices that they are for. When there is nothing to do, or it was done, it does nothing.
     *
     * @throws RejectedMessageException {@link io.waybill.api.ErrorCode#DEVICE_UNAVAILABLE} and others of the converters; there are no
     *     tensors then, and {@link #release} is still to come
     */
    public void convert() throws RejectedMessageException {
        if (conversion != null) {
            Conversion once = conversion;
            conversion = null;
            tensors = once.convert(storages);
        }
    }

    /** In the sender's order; not to be changed. */
    public List<Tensor> tensors() {
        return tensors;
    }
    /** Moves inlined storages out of the record. Only before anybody else sees the tensors. */
    public void detach() {
        long bytes = 0;
        for (InlineStorage storage : inlined) {
            bytes += TensorSection.align(storage.sizeBytes());
        }
        if (inlined.isEmpty()) {
            return;
        }
        HostStorage room = memory.allocate(bytes);
        long offset = 0;
        for (InlineStorage storage : inlined) {
            if (storage.needsRecord()) {
                storage.moveTo(room.retain(), offset, copies);
                offset += TensorSection.align(storage.sizeBytes());
            }
        }
        room.release();
    }

    /** Whether a segment that they lie in was cut since they arrived: what was read of them may be wrong. */
    public boolean areCut() {
        if (released) {
            return false;
        }
        for (Storage storage : storages) {
            if (storage instanceof ArrivedStorage arrived && arrived.isCut()) {
                return true;
            }
        }
        return false;
    }

    /**
     * Gives the counts back, each of them, whatever becomes of another. May be called again, without effect.
     *
     * @param onFailure is told what a storage threw: one of a bundle's own, or one whose counts its user gave back already
     */
    public RecordCopy release(Consumer<? super Throwable> onFailure) {
        if (!released) {
            released = true;
            for (int i = 0; i < storages.size(); i++) {
                try {
                    storages.get(i).release();
                } catch (Throwable e) { // the boundary around a storage
                    onFailure.accept(e);
                }
            }
        }
        for (InlineStorage storage : inlined) {
            if (storage.needsRecord()) {
                return RecordCopy.IN_USE;
            }
        }
        return RecordCopy.FREE;
    }

    /** The same; what storages throw is logged. */
    public RecordCopy release() {
        return release(e -> ForeignErrors.warn(LOG, "A storage of a message could not be given back", e));
    }
}
