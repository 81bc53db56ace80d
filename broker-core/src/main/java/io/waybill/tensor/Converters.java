package io.waybill.tensor;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.tensor.Device;

/** Converters that move tensors of a device type in and out of messages. Thread-safe. */
public interface Converters {

    /**
     * Returns the converter for sending.
     *
     * @throws RejectedMessageException {@link ErrorCode#DEVICE_UNAVAILABLE} when there is none or it can't work on this
     * host
     */
    DeviceConverter forSending(Device device) throws RejectedMessageException;

    /**
     * Returns the converter for receiving.
     *
     * @throws RejectedMessageException {@link ErrorCode#DEVICE_UNAVAILABLE} when there is none or it can't work on this
     * host
     */
    DeviceConverter forReceiving(Device device) throws RejectedMessageException;
}
