package io.waybill.api.device;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Device memory that the receiver of a message uses in place, without a copy. A {@link DeviceConverter} implements this
 * interface, too; the service needs no further property. Called for storages that the sender's settings allow it to
 * share with the receiver; other storages, and those that it does not share, are copied.
 *
 * <p><b>Threads and errors.</b> As for {@link DeviceConverter}. The worker's own threads may call, too.
 *
 * <p><b>Lifetime.</b> The sender's worker holds a count of the storage until the receiver has released its own, or has
 * ended.
 */
@ConsumerType
public interface MemorySharing {

    /** Max size of a handle, in bytes. */
    int MAX_HANDLE_BYTES = 256;

    /**
     * Creates a handle with which processes of this host, including this one, can open the memory of a storage. On
     * return its content is complete.
     *
     * @param streams streams from {@link DeviceConverter#streams} that produce the content
     * @return from 1 to {@value #MAX_HANDLE_BYTES} bytes, which travel in the message; empty if the storage must be
     *     copied
     * @throws RejectedMessageException {@link ErrorCode#DEVICE_LOST}, which fails the message
     */
    Optional<ByteBuffer> share(Storage storage, List<DeviceStream> streams) throws RejectedMessageException;

    /**
     * Creates a storage over memory that a sender shares: the memory itself if it is on {@code target}, otherwise a
     * copy from device to device.
     *
     * @param handle bytes from the sender's {@link #share}; untrusted. Valid until this method returns
     * @param shared stand-in for the sender's storage, of the same size: the result retains it while it, or work on the
     *     device, uses the memory. Its bytes can't be read
     * @param streams streams from {@link DeviceConverter#streams} that will use the storage
     * @return a storage on {@code target} of the same size; never {@code shared} itself
     * @throws RejectedMessageException {@link ErrorCode#DEVICE_UNAVAILABLE} when this process can't use the memory,
     *     {@link ErrorCode#PEER_CORRUPT} when the handle is none, {@link ErrorCode#DEVICE_LOST} or
     *     {@link ErrorCode#DEVICE_FULL}
     */
    Storage open(ByteBuffer handle, Storage shared, Device target, List<DeviceStream> streams)
            throws RejectedMessageException;
}
