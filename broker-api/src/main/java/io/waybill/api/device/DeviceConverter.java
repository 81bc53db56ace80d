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
 * with {@link ConvertsDevice}. A converter that pins memory also implements {@link MappingListener}.
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

    /** Returns why devices of this type can't be used on this host; empty if they can. */
    Optional<String> unavailable();

    /**
     * Returns the streams of the calling thread for a device: the queues of work that produce the storages of a message
     * before it is sent, or that use them after it has arrived. Called once for each message and device, on the thread
     * that then moves the storages: the sender's, the handler's for a request and its response, or one of the worker's
     * for an incoming response. All storages of the message on that device are moved with the result.
     *
     * @return streams of this device, which the converter casts to its own type; empty, the default, if each copy is
     *     complete on return
     * @throws RejectedMessageException {@link ErrorCode#DEVICE_LOST}, which fails the message
     */
    default List<DeviceStream> streams(Device device) throws RejectedMessageException {
        return List.of();
    }

    /**
     * Makes the bytes of a storage readable by the host. On return the copy is complete.
     *
     * @param streams streams from {@link #streams} that produce the storage's content; the copy waits for them
     * @return a copy in host memory; empty if the storage is already in host memory and can be sent unchanged
     * @throws RejectedMessageException {@link ErrorCode#DEVICE_LOST} or {@link ErrorCode#DEVICE_FULL}
     */
    Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers)
            throws RejectedMessageException;

    /**
     * Copies bytes that arrived in host memory to a device.
     *
     * @param streams streams from {@link #streams} that will use the storage; the copy precedes their next work
     * @return a storage on {@code target}; may be {@code arrived} itself, retained
     * @throws RejectedMessageException {@link ErrorCode#DEVICE_LOST} or {@link ErrorCode#DEVICE_FULL}
     */
    Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams)
            throws RejectedMessageException;
}
