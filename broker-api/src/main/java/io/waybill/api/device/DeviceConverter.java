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
 * Moves the storages of one device type between messages and the device: PyTorch's
 * {@code TensorpipeDeviceTypeConverter} ({@code torch/csrc/distributed/rpc/tensorpipe_utils.h}). Published as a service
 * with {@link ConvertsDevice}.
 *
 * <p><b>Threads.</b> Several at once: the sender's, the handler's, or one of the worker's. A method may block. Any
 * exception other than {@link RejectedMessageException}, a null result, or a storage of another size fails the message
 * with {@link ErrorCode#DEVICE_LOST}.
 *
 * <p><b>Ownership.</b> The caller keeps the arguments, and owns the result, with one count. A method that throws has
 * already freed what it allocated.
 */
@ConsumerType
public interface DeviceConverter {

    /** Returns why devices of this type can't be used on this host; empty when they can. */
    Optional<String> unavailable();

    /**
     * Makes the bytes of a storage readable by the host.
     *
     * @param streams on which the storage's content is produced; the copy waits for them
     * @return a copy in host memory; empty when the storage already is in host memory and can be sent as it is
     * @throws RejectedMessageException {@link ErrorCode#DEVICE_LOST} or {@link ErrorCode#DEVICE_FULL}
     */
    Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers)
            throws RejectedMessageException;

    /**
     * Copies bytes that arrived in host memory to a device.
     *
     * @param streams on which the storage will be used; the copy comes before their next work
     * @return a storage on {@code target}; may be {@code arrived} itself, retained
     * @throws RejectedMessageException {@link ErrorCode#DEVICE_LOST} or {@link ErrorCode#DEVICE_FULL}
     */
    Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams)
            throws RejectedMessageException;
}
