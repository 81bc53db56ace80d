package io.waybill.api.tensor;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import org.osgi.annotation.versioning.ProviderType;

/** Allocator of memory for tensors from which the broker sends without a copy. Thread-safe. */
@ProviderType
public interface TensorBuffers {

    /**
     * Allocates writable host memory inside a segment: sending a tensor over it copies nothing, whatever its size. The
     * content is undefined.
     *
     * <p>After sending, do not write the bytes until the storage is released: receivers read them in place.
     *
     * @return the storage, with one count, which the caller owns
     * @throws CallException {@link ErrorCode#DEVICE_FULL} if there is no room
     */
    Storage allocate(long sizeBytes);
}
