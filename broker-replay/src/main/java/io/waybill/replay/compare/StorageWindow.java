package io.waybill.replay.compare;

import io.waybill.api.tensor.Storage;
import java.nio.ByteBuffer;

/**
 * View of the bytes of a storage, which may be larger than a buffer. Copies no bytes. For one thread; valid as long as
 * the storage.
 */
final class StorageWindow {

    private static final int STEP_BYTES = 1 << 20;

    private final Storage storage;
    private ByteBuffer window = ByteBuffer.allocate(0);
    private long start; // position of the window in the storage

    StorageWindow(Storage storage) {
        this.storage = storage;
    }

    /**
     * Returns the given bytes between the buffer's position and limit, until the next call.
     *
     * @param length at most 1 MiB
     */
    ByteBuffer at(long offset, int length) {
        if (offset < start || offset + length > start + window.capacity()) {
            start = offset / STEP_BYTES * STEP_BYTES;
            window = storage.bytes(start, (int) Math.min(2L * STEP_BYTES, storage.sizeBytes() - start));
        }
        int from = (int) (offset - start);
        return window.limit(from + length).position(from);
    }
}
