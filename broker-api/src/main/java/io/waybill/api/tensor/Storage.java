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
 * <p><b>Versions.</b> Converters implement it for memory of their devices: a method that is added has a default.
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
     * @throws IllegalStateException when the bytes are released or are not in host memory
     */
    long address();

    /**
     * Returns an address of the first byte, for native code that only reads. It has the content of {@link #address()}, and may be another one, at which a
     * write would end the process. What native code writes at {@link #address()} later need not be seen there: ask again.
     *
     * @throws IllegalStateException when the bytes are released or are not in host memory
     */
    default long readAddress() {
        return address();
    }

    /**
     * Returns the address of the first byte in the memory of {@link #device()}, for code that works on that device; in host memory,
     * {@link #address()}. Work that the calling thread then puts on its default stream of the device comes after the copy that brings the
     * content. The memory is used again only after the work that is on that stream when the last count is released.
     *
     * @throws IllegalStateException when the bytes are released, or have no such address
     * @throws CallException {@link ErrorCode#DEVICE_LOST} when the device failed
     */
    default long deviceAddress() {
        return address();
    }

    /**
     * Returns where another process of this host, which takes part in the name of this one, finds the bytes in a file: it maps them, a copy of its own on write, or writes
     * them if this storage was {@linkplain TensorBuffers#allocate allocated} here. They are there as long as a count is held, and if this process ends without that, as long as the
     * other one has a shared lock on them ({@code F_OFD_SETLK}), taken while this process was alive.
     *
     * @return empty when no file has them, or native code may have changed them in this process
     * @throws IllegalStateException when the bytes are released
     */
    default Optional<FilePart> filePart() {
        return Optional.empty();
    }

    /**
     * Returns a view of a part of the bytes, in native byte order: read-only when the storage arrived with a message.
     *
     * @throws IndexOutOfBoundsException when the part does not lie inside the storage
     * @throws IllegalStateException when the bytes are released or are not in host memory
     */
    ByteBuffer bytes(long offset, int length);

    /**
     * Returns whether tensors over this are more than bytes to other handlers of this worker, such as live tensors of a library. A value of
     * a remote reference then holds this storage, where it would otherwise hold a copy.
     */
    default boolean isLive() {
        return false;
    }

    /** Takes one more count, and returns this. */
    Storage retain();

    /**
     * Releases one count.
     *
     * @throws IllegalStateException when none is left
     */
    void release();
}
