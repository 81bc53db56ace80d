package io.waybill.replay.recording;

import io.waybill.api.CallException;
import io.waybill.api.MessageId;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.tensor.DescribedTensors;
import io.waybill.tensor.HostMemory;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Recreates tensors of recorded messages from the bytes in the record, or from separate ones. One thread. */
public final class RecordedTensors {

    private final HostMemory memory;
    private final StorageBytes beside;
    private final MessageBuffer buffer = new MessageBuffer();

    /**
     * Creates a decoder.
     *
     * @param beside bytes outside of the records, closed with this object
     */
    public RecordedTensors(HostMemory memory, StorageBytes beside) {
        this.memory = memory;
        this.beside = beside;
    }

    /** Returns the tensors of a message, as {@link CallRecording#tensors} specifies. */
    public List<Tensor> of(RecordedMessage message) throws IOException, NotRecordedException {
        RecordView record = message.in(buffer);
        if (record.tensorCount() == 0) {
            return List.of();
        }
        List<Tensor> described = described(record);
        requireInlineFits(record, described);
        List<Tensor> restored = new ArrayList<>();
        Map<Integer, Storage> storages = new HashMap<>();
        boolean whole = false;
        try {
            for (Tensor tensor : described) {
                int number = DescribedTensors.storageOf(tensor);
                Storage known = storages.get(number);
                Storage storage = known == null ? restore(message, record, restored.size(), tensor) : known.retain();
                storages.put(number, storage);
                restored.add(over(storage, tensor));
            }
            whole = true;
            return restored;
        } finally {
            if (!whole) {
                restored.forEach(tensor -> tensor.storage().release());
            }
        }
    }

    private static List<Tensor> described(RecordView record) throws NotRecordedException {
        try {
            return DescribedTensors.of(record);
        } catch (MalformedRecordException e) {
            throw new NotRecordedException(
                    "the tensors of " + MessageId.text(record.id()) + " do not read: " + e.getMessage());
        }
    }

    /** Checks inlined storages: the storages of a forged record could all overlap. */
    private static void requireInlineFits(RecordView record, List<Tensor> tensors) throws NotRecordedException {
        Map<Integer, Long> sizes = new HashMap<>();
        for (Tensor tensor : tensors) {
            if (DescribedTensors.isInline(tensor)) {
                sizes.put(DescribedTensors.storageOf(tensor), tensor.storage().sizeBytes());
            }
        }
        long bytes = sizes.values().stream().mapToLong(Long::longValue).sum();
        if (bytes > record.sectionLength()) {
            throw new NotRecordedException("the tensors of " + MessageId.text(record.id())
                    + " do not read: expected storages in its section of " + record.sectionLength() + " bytes, found "
                    + bytes + " bytes of them");
        }
    }

    private static Tensor over(Storage storage, Tensor like) {
        return new Tensor(
                like.dtype(), like.sizes(), like.strides(), like.storageOffset(), like.requiresGrad(), storage);
    }

    private Storage restore(RecordedMessage message, RecordView record, int number, Tensor tensor)
            throws IOException, NotRecordedException {
        boolean isInline = DescribedTensors.isInline(tensor);
        int storageNumber = DescribedTensors.storageOf(tensor);
        long sizeBytes = tensor.storage().sizeBytes();
        if (!isInline) {
            require(beside.missing(message, record, storageNumber, sizeBytes), record, number, tensor);
        }
        Storage storage = allocate(record, number, tensor);
        boolean isWhole = false;
        try {
            if (isInline) {
                storage.bytes(0, (int) sizeBytes).put(tensor.storage().bytes(0, (int) sizeBytes));
            } else {
                long[] filled = {0};
                Optional<String> damage = beside.read(message, record, storageNumber, piece -> {
                    int bytes = piece.remaining();
                    storage.bytes(filled[0], bytes).put(piece);
                    filled[0] += bytes;
                });
                require(damage, record, number, tensor);
                if (filled[0] != sizeBytes) {
                    throw new IOException("expected " + sizeBytes + " bytes of a storage, found " + filled[0]);
                }
            }
            isWhole = true;
            return storage;
        } finally {
            if (!isWhole) {
                storage.release();
            }
        }
    }

    private Storage allocate(RecordView record, int number, Tensor tensor) throws NotRecordedException {
        try {
            return memory.allocate(tensor.storage().sizeBytes());
        } catch (CallException e) {
            throw missing(record, number, tensor, e.getMessage());
        }
    }

    private static void require(Optional<String> problem, RecordView record, int number, Tensor tensor)
            throws NotRecordedException {
        if (problem.isPresent()) {
            throw missing(record, number, tensor, problem.get());
        }
    }

    private static NotRecordedException missing(RecordView record, int number, Tensor tensor, String why) {
        return new NotRecordedException("tensor " + number + " of the "
                + (record.type().isRequest() ? "request " : "response to ") + MessageId.text(record.id())
                + ", whose storage has "
                + tensor.storage().sizeBytes() + " bytes, is not there: " + why);
    }
}
