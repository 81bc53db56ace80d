package io.waybill.query.stored;

import io.waybill.api.tensor.Tensor;
import io.waybill.archive.ArchiveReader.Sink;
import io.waybill.tensor.DescribedTensors;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Locates the bytes of tensors in stored messages. */
public interface StoredTensors {

    /**
     * Locates the storage of a tensor.
     *
     * @param tensor of the record's payload
     */
    StoredStorage storageOf(StoredRecord record, Tensor tensor) throws IOException;

    /**
     * Passes on the bytes of a storage that is kept outside of its record.
     *
     * @return false if they are not the kept bytes, and must not be used
     */
    boolean read(StoredRecord record, Tensor tensor, Sink sink) throws IOException;

    /**
     * Reads bytes of a storage, wherever they are kept. A read of the whole storage is verified, a part is not.
     *
     * @param offset of a part inside of the storage
     * @param to filled up to its limit
     * @throws IOException when the bytes were not kept or are damaged
     */
    default void read(StoredRecord record, Tensor tensor, long offset, ByteBuffer to) throws IOException {
        if (DescribedTensors.isInline(tensor)) {
            to.put(tensor.storage().bytes(offset, to.remaining()));
            return;
        }
        StoredStorage storage = storageOf(record, tensor);
        if (!storage.isKept()) {
            throw new IOException("the bytes of the tensor are not on record: " + storage.text());
        }
        if (!readKept(record, tensor, offset, to)) {
            throw new IOException("the bytes of the tensor are damaged: expected " + storage.text());
        }
    }

    /** Reads bytes of a storage that is kept outside of its record. Returns false if they are damaged. */
    boolean readKept(StoredRecord record, Tensor tensor, long offset, ByteBuffer to) throws IOException;
}
