package io.waybill.api.device;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.TensorBuffers;
import java.util.List;
import java.util.Optional;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Moves the storages of one device type in and out of messages: PyTorch's {@code TensorpipeDeviceTypeConverter}
 * ({@code torch/csrc/distributed/rpc/tensorpipe_utils.h}). Published as a service with {@link ConvertsDevice}.
 *
 * <p><b>Threads.</b> Several at once: the sender's own, the handler's, or one of the worker's. A method may take its time. Whatever else than a
 * {@link RejectedMessageException} it throws, a null, and a storage of another size are {@link ErrorCode#DEVICE_LOST} for its message.
 *
 * <p><b>Ownership.</b> Arguments stay the caller's. A result is the caller's, with one count. A method
 * that throws has already freed what it allocated.
 */
@ConsumerType
public interface DeviceConverter {

    /** Why devices of this type can't be used here; empty when they can. */
    Optional<String> unavailable();

    /**
     * Makes the bytes of a storage readable by the host.
     *
     * @param streams on which the storage's content is made; the copy waits for them
     * @return a copy in host memory; empty when the storage already is in host memory and can be sent as it is
     * @throws RejectedMessageException {@link ErrorCode#DEVICE_LOST} or {@link ErrorCode#DEVICE_FULL}
     */
    Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers)
            throws RejectedMessageException;

    /**
     * Puts bytes that arrived in host memory on a device.
     *
     * @param streams on which the storage will be used; the copy comes before their next work
     * @return a storage on {@code target}; may be {@code arrived} itself, retained
     * @throws RejectedMessageException {@link ErrorCode#DEVICE_LOST} or {@link ErrorCode#DEVICE_FULL}
     */
    Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams)
            throws RejectedMessageException;
}
