package io.waybill.tensor;

import io.waybill.tensor.segment.LeasedBytes;
import java.nio.file.Path;

/**
 * Receives the storages that the messages of one queue refer to in segments, to copy them. Thread-safe; on the path of
 * calls with large tensors.
 */
@FunctionalInterface
public interface SentStorages {

    /** Copies nothing. */
    SentStorages NONE = (file, sequence, id, storage, bytes) -> bytes.letGo();

    /**
     * Called when a message is in its queue. When it throws, it has not taken the bytes.
     *
     * @param file of the queue with its record
     * @param sequence of its record
     * @param id of the message
     * @param storage number of the storage in it
     * @param bytes to be released by the callee; they do not change before
     */
    void sent(Path file, long sequence, long id, int storage, LeasedBytes bytes);
}
