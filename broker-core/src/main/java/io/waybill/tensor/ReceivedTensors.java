package io.waybill.tensor;

import io.waybill.api.Storage;
import io.waybill.api.Tensor;
import java.util.List;

/**
 * The tensors of one message, over storages of which it holds one count each.
 *
 * <p><b>Threads.</b> Owned by one at a time; the storages' counts are thread-safe.
 *
 * <p><b>Lifetime.</b> Inlined storages lie in the private copy of the record. Either {@link #detach} moves them out, before anybody else
 * sees the tensors, and the copy is free from then on; or {@link #release} says whether the copy is free.
 */
public final class ReceivedTensors {

    /** What becomes of the private copy of a record. */
    public enum RecordCopy {
        /** Nobody uses it: the next record may take its place. */
        FREE,
        /** Storages that somebody retained lie in it: it is theirs, and the next record needs another one. */
        IN_USE
    }

    static final ReceivedTensors NONE = new ReceivedTensors(List.of(), List.of(), List.of(), null, null);

    private final List<Tensor> tensors;
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

    /** Gives the counts back. May be called again, without effect. */
    public RecordCopy release() {
        if (!released) {
            released = true;
            for (Storage storage : storages) {
                storage.release();
            }
        }
        for (InlineStorage storage : inlined) {
            if (storage.needsRecord()) {
                return RecordCopy.IN_USE;
            }
        }
        return RecordCopy.FREE;
    }
}
