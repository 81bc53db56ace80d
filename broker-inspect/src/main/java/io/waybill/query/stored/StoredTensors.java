package io.waybill.query.stored;

import io.waybill.api.tensor.Tensor;
import io.waybill.archive.ArchiveReader.Sink;
import java.io.IOException;

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
}
