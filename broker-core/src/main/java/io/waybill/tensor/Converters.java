package io.waybill.tensor;

import io.waybill.api.Device;
import io.waybill.api.DeviceConverter;
import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;

/** Who moves tensors of a device type in and out of messages. Thread-safe. */
public interface Converters {

    /** @throws RejectedMessageException {@link ErrorCode#DEVICE_UNAVAILABLE} when there is none or it can't work here */
    DeviceConverter forSending(Device device) throws RejectedMessageException;

    /** @throws RejectedMessageException {@link ErrorCode#DEVICE_UNAVAILABLE} when there is none or it can't work here */
    DeviceConverter forReceiving(Device device) throws RejectedMessageException;
}
