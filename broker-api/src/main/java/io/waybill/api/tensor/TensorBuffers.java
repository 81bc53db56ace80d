package io.waybill.api.tensor;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Memory for tensors that lies where the broker can send it from without a copy. Thread-safe.
 */
@ProviderType
public interface TensorBuffers {

    /**
     * Writable host memory, inside a segment: sending a tensor over it copies nothing, whatever its size. Its content is undefined.
     *
     * <p>Once sent, the bytes must not be written again until the storage is released: receivers read them in place.
     *
     * @return the caller's, with one count
     * @throws CallException {@link ErrorCode#DEVICE_FULL} when there is no room
     */
    Storage allocate(long sizeBytes);
}
