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
 * Tensors of one message, with one count of each storage.
 *
 * <p><b>Threads.</b> Owned by one thread at a time; the storages' counts are thread-safe.
 *
 * <p><b>Devices.</b> When a tensor is for a device, {@link #convert} comes before {@link #tensors}: it calls converters
 * of bundles, which may block, and therefore needs a thread that may wait.
 *
 * <p><b>Lifetime.</b> Inlined storages are in the private copy of the record. Either {@link #detach} moves them out
 * before the tensors are published, and then the copy is free; or {@link #release} returns whether the copy is free.
 */
public final class ReceivedTensors {

    /** State of the private copy of a record. */
    public enum RecordCopy {
        /** Unused: the next record may use it. */
        FREE,
        /** Owned by retained storages: the next record needs another copy. */
        IN_USE
    }

    /** Conversion of storages to storages on their target devices. */
    @FunctionalInterface
    interface Conversion {

        /**
         * @param storages in host memory; each is replaced by its conversion
         * @param moves moves of the message, which end when it is released
         * @return the tensors over them
         */
        List<Tensor> convert(List<Storage> storages, DeviceMoves moves) throws RejectedMessageException;
    }

    private static final Logger LOG = LoggerFactory.getLogger(ReceivedTensors.class);

    static final ReceivedTensors NONE = new ReceivedTensors(List.of(), List.of(), List.of(), null, null);

    private DeviceMoves moves; // null when no tensor is for a device

    private List<Tensor> tensors;
    private Conversion conversion; // null when there is nothing to convert
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

    /** Creates tensors, some of which are for a device. */
    ReceivedTensors(
            Conversion conversion,
            DeviceMoves moves,
            List<Storage> storages,
            List<InlineStorage> inlined,
            HostMemory memory,
            NativeMemory copies) {
        this(List.of(), storages, inlined, memory, copies);
        this.conversion = conversion;
        this.moves = moves;
    }

    /** Returns whether {@link #convert} is still to be called. */
    public boolean isForDevice() {
        return conversion != null;
    }

    /**
     * Puts the storages on their target devices. Does nothing when there is nothing to convert, or the conversion was
     * done.
     *
     * @throws RejectedMessageException {@link io.waybill.api.ErrorCode#DEVICE_UNAVAILABLE} and others of the
     *     converters; there are no tensors then, and {@link #release} is still to be called
     */
    public void convert() throws RejectedMessageException {
        if (conversion != null) {
            Conversion once = conversion;
            conversion = null;
            tensors = once.convert(storages, moves);
        }
    }

    /** Returns the tensors in the sender's order; read-only. */
    public List<Tensor> tensors() {
        return tensors;
    }
    /** Moves inlined storages out of the record. Only before the tensors are published. */
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

    /** Returns whether a segment of the tensors was truncated since they arrived: values read from it may be wrong. */
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
     * Releases the counts, all of them, even if one release throws. Idempotent.
     *
     * @param onFailure called with the exception of a storage: of a bundle's storage, or of one whose counts its user
     * released already
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
        if (moves != null) {
            moves.end(); // last: a converter that is withdrawn has waited for the release of its storages
            moves = null;
        }
        for (InlineStorage storage : inlined) {
            if (storage.needsRecord()) {
                return RecordCopy.IN_USE;
            }
        }
        return RecordCopy.FREE;
    }

    /** Releases the counts; exceptions of storages are logged. */
    public RecordCopy release() {
        return release(e -> ForeignErrors.warn(LOG, "A storage of a message could not be given back", e));
    }
}
