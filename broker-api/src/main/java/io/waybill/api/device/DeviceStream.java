package io.waybill.api.device;

import io.waybill.api.tensor.Device;
import org.osgi.annotation.versioning.ConsumerType;

/** A queue of work on a device, defined by the converter that created it in {@link DeviceConverter#streams}. */
@ConsumerType
public interface DeviceStream {

    Device device();
}
