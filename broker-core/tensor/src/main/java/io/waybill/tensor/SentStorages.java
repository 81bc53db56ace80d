package io.waybill.tensor;

import io.waybill.tensor.segment.LeasedBytes;
import java.nio.file.Path;

/**
 * Receiver of the storages that the messages of one queue refer to in segments, for copying. Thread-safe; on the path
 * of calls with large tensors.
 */
@FunctionalInterface
public interface SentStorages {

    /** Receiver that copies nothing. */
    SentStorages NONE = (file, sequence, id, storage, bytes) -> bytes.letGo();

    /**
     * Called when a message is in its queue. When this throws, it has not acquired the bytes.
     *
     * @param file of the queue with its record
     * @param sequence of its record
     * @param id of the message
     * @param storage number of the storage in it
     * @param bytes to be released by the callee; they do not change before
     */
    void sent(Path file, long sequence, long id, int storage, LeasedBytes bytes);
}
