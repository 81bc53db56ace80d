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
 * Device memory that is used by the receiver of a message where the sender has it, without a copy. A {@link DeviceConverter} implements it as
 * well; the service needs no further property. It is asked for storages that the sender's settings let it share with the receiver; others, and those that it
 * does not share, are copied.
 *
 * <p><b>Threads and errors.</b> As for {@link DeviceConverter}. One of the worker's threads may call, too.
 *
 * <p><b>Lifetime.</b> The sender's worker holds a count of the storage until the receiver has released its own, or has ended.
 */
@ConsumerType
public interface MemorySharing {

    /** Max size of a handle, in bytes. */
    int MAX_HANDLE_BYTES = 256;

    /**
     * Makes a handle by which other processes of this host, and this one, find the memory of a storage. On return its content is complete.
     *
     * @param streams on which the content is produced, from {@link DeviceConverter#streams}
     * @return from 1 to {@value #MAX_HANDLE_BYTES} bytes, which travel in the message; empty when the storage has to be copied
     * @throws RejectedMessageException {@link ErrorCode#DEVICE_LOST}, which fails the message
     */
    Optional<ByteBuffer> share(Storage storage, List<DeviceStream> streams) throws RejectedMessageException;

    /**
     * Makes a storage over memory that a sender shares: the memory itself when {@code target} is the device that has it, else a copy from device
     * to device.
     *
     * @param handle what the sender's {@link #share} returned; not trusted. Valid until this method returns
     * @param shared stands for the sender's storage, and has its size: the result retains it for as long as it uses the memory, and until work that may use it has
     *     ended. Its bytes can't be read
     * @param streams on which the storage will be used, from {@link DeviceConverter#streams}
     * @return a storage on {@code target} of the same size; never {@code shared} itself
     * @throws RejectedMessageException {@link ErrorCode#DEVICE_UNAVAILABLE} when this process can't use the memory,
     *     {@link ErrorCode#PEER_CORRUPT} when the handle is none, {@link ErrorCode#DEVICE_LOST} or {@link ErrorCode#DEVICE_FULL}
     */
    Storage open(ByteBuffer handle, Storage shared, Device target, List<DeviceStream> streams)
            throws RejectedMessageException;
}
