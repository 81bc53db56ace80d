package io.waybill.osgi.whiteboard;

import io.waybill.api.device.DeviceConverter;
import io.waybill.device.DeviceRegistry;

/** Where the converters of bundles go. Thread-safe; called when a bundle's converter comes or goes. */
public interface DeviceConverters {

    /** A converter for devices of this type came. Several for a type may be there at once: the implementation chooses. */
    void add(String deviceType, DeviceConverter converter);

    /** A converter goes. */
    void remove(String deviceType, DeviceConverter converter);

    /** Puts converters into a registry. */
    static DeviceConverters into(DeviceRegistry registry) {
        return new DeviceConverters() {
            @Override
            public void add(String deviceType, DeviceConverter converter) {
                registry.register(deviceType, converter);
            }

            @Override
            public void remove(String deviceType, DeviceConverter converter) {
                registry.remove(deviceType, converter);
            }
        };
    }
}
