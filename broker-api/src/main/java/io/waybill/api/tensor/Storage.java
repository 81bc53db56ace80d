package io.waybill.api.tensor;

import java.nio.ByteBuffer;
import org.osgi.annotation.versioning.ProviderType;

/**
 * The bytes behind one or more tensors, outside the Java heap. May be larger than 2 GiB.
 *
 * <p><b>Ownership.</b> A storage is counted. Its allocator holds one count and releases it with {@link #release()};
 * {@link #retain()} takes another. A storage that arrived with a message is the broker's and dies when the handler returns or the
 * response's callback ends, unless it was retained. Giving back the last count frees the bytes; using them afterwards is an error.
 *
 * <p><b>Threads.</b> Counting is thread-safe; the bytes are not.
 */
@ProviderType
public interface Storage {

    /** Where the bytes lie. */
    Device device();

    long sizeBytes();

    /**
     * The address of the first byte, for native code. Asking for it says that native code may write: the broker then discards
     * private copies of the pages when the storage is released. Alignment is 64 bytes.
     *
     * @throws IllegalStateException when the bytes are released or are not in host memory
     */
    long address();

    /**
     * A view of a part of the bytes, in native byte order: read-only when the storage arrived with a message.
     *
     * @throws IndexOutOfBoundsException when the part does not lie inside the storage
     * @throws IllegalStateException when the bytes are released or are not in host memory
     */
    ByteBuffer bytes(long offset, int length);

    /** Takes one more count, and returns this. */
    Storage retain();

    /**
     * Gives one count back.
     *
     * @throws IllegalStateException when none is left
     */
    void release();
}
