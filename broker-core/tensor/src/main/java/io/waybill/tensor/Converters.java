package io.waybill.tensor;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.tensor.Device;

/**
 * Converters that move tensors of a device type in and out of messages. Each use is counted until it is ended: a
 * converter that is withdrawn waits for the messages that use it. Thread-safe.
 */
public interface Converters {

    /**
     * Returns the converter for sending. Waits while the converter for this type is being replaced.
     *
     * @throws RejectedMessageException {@link ErrorCode#DEVICE_UNAVAILABLE} when there is none or it can't work on this
     * host
     */
    DeviceConverter forSending(Device device) throws RejectedMessageException;

    /**
     * Returns the converter for receiving a request. Waits while the converter for this type is being replaced.
     *
     * @throws RejectedMessageException {@link ErrorCode#DEVICE_UNAVAILABLE} when there is none or it can't work on this
     * host
     */
    DeviceConverter forReceiving(Device device) throws RejectedMessageException;

    /**
     * Returns the converter for receiving a response: a converter that is withdrawn, as long as requests that it
     * received may wait for the response, otherwise the next one.
     *
     * @throws RejectedMessageException {@link ErrorCode#DEVICE_UNAVAILABLE} when there is none or it can't work on this
     * host
     */
    DeviceConverter forResponse(Device device) throws RejectedMessageException;

    /** Ends the use of a converter that {@link #forSending} or {@link #forResponse} returned. */
    void sent(DeviceConverter converter);

    /** Ends the use of a converter that {@link #forReceiving} returned. */
    void received(DeviceConverter converter);
}
