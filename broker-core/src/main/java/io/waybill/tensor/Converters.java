package io.waybill.tensor;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.tensor.Device;

/** Who moves tensors of a device type in and out of messages. Thread-safe. */
public interface Converters {

    /** @throws RejectedMessageException {@link ErrorCode#DEVICE_UNAVAILABLE} when there is none or it can't work here */
    DeviceConverter forSending(Device device) throws RejectedMessageException;

    /** @throws RejectedMessageException {@link ErrorCode#DEVICE_UNAVAILABLE} when there is none or it can't work here */
    DeviceConverter forReceiving(Device device) throws RejectedMessageException;
}
