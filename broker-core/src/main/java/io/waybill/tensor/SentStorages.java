package io.waybill.tensor;

import io.waybill.tensor.segment.LeasedBytes;
import java.nio.file.Path;

/** Keeps copies of the storages that the messages of one queue name in segments. Thread-safe; on the path of calls with large tensors. */
@FunctionalInterface
public interface SentStorages {

    /** Keeps nothing. */
    SentStorages NONE = (file, sequence, id, storage, bytes) -> bytes.letGo();

    /**
     * A message is in its queue.
     *
     * @param file of the queue, in which its record lies
     * @param sequence of its record
     * @param id of the message
     * @param storage number of the storage in it
     * @param bytes to be let go; they stay as they are until then
     */
    void sent(Path file, long sequence, long id, int storage, LeasedBytes bytes);
}
