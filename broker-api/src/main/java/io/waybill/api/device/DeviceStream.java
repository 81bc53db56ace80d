package io.waybill.api.device;

import io.waybill.api.tensor.Device;
import org.osgi.annotation.versioning.ConsumerType;

/** A queue of work on a device, in the terms of the converter that made it. */
@ConsumerType
public interface DeviceStream {

    Device device();
}
