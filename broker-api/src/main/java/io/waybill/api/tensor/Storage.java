package io.waybill.api.tensor;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import java.nio.ByteBuffer;
import java.util.Optional;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * The bytes of one or more tensors, outside the Java heap. May be larger than 2 GiB.
 *
 * <p><b>Ownership.</b> A storage is reference-counted. Its allocator holds one count and releases it with
 * {@link #release()}; {@link #retain()} takes another. The broker owns a storage that arrived with a message, and
 * releases it when the handler returns or the response's callback ends; retain it to use it longer. Releasing the last
 * count frees the bytes; using them afterwards is an error.
 *
 * <p><b>Threads.</b> Counting is thread-safe; access to the bytes is not.
 *
 * <p><b>Versions.</b> Converters implement it for memory of their devices: a new method always has a default.
 */
@ConsumerType
public interface Storage {

    /** Returns the device that holds the bytes. */
    Device device();

    long sizeBytes();

    /**
     * Returns the address of the first byte, for native code. After this call the broker assumes that native code may
     * write, and discards private copies of the pages when the storage is released. Alignment is 64 bytes.
     *
     * @throws IllegalStateException if the bytes are released or are not in host memory
     */
    long address();

    /**
     * Returns the address of the first byte, for native code that only reads. The content is that of
     * {@link #address()}; the address may differ, and a write to it may crash the process. Later native writes at
     * {@link #address()} may be invisible here: call this method again.
     *
     * @throws IllegalStateException if the bytes are released or are not in host memory
     */
    default long readAddress() {
        return address();
    }

    /**
     * Returns the address of the first byte in the memory of {@link #device()}, for code that works on that device; in
     * host memory, {@link #address()}. Work that the calling thread later submits to its default stream of the device
     * runs after the copy that produces the content. The memory is reused only after the work that is on that stream
     * when the last count is released.
     *
     * @throws IllegalStateException if the bytes are released, or have no such address
     * @throws CallException {@link ErrorCode#DEVICE_LOST} if the device failed
     */
    default long deviceAddress() {
        return address();
    }

    /**
     * Returns the part of a file where another process of this host, on whose behalf this worker acts, finds the bytes.
     * The process maps the part copy-on-write, or writes to it if this storage was
     * {@linkplain TensorBuffers#allocate allocated} here. The part is valid while a count is held; if this process dies
     * first, while the other process has a shared lock on it ({@code F_OFD_SETLK}) that it took before the death.
     *
     * @return empty if no file has them, or native code may have changed them in this process
     * @throws IllegalStateException if the bytes are released
     */
    default Optional<FilePart> filePart() {
        return Optional.empty();
    }

    /**
     * Returns a view of a part of the bytes, in native byte order: read-only when the storage arrived with a message.
     *
     * @throws IndexOutOfBoundsException if the part does not lie inside the storage
     * @throws IllegalStateException if the bytes are released or are not in host memory
     */
    ByteBuffer bytes(long offset, int length);

    /**
     * Returns whether tensors over this storage mean more than bytes to other handlers of this worker, such as live
     * tensors of a library. A value of a remote reference then holds this storage instead of a copy.
     */
    default boolean isLive() {
        return false;
    }

    /** Adds one count, and returns this storage. */
    Storage retain();

    /**
     * Releases one count.
     *
     * @throws IllegalStateException if no count is left
     */
    void release();
}
