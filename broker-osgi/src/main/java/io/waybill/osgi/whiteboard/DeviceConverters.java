package io.waybill.osgi.whiteboard;

import io.waybill.api.device.DeviceConverter;
import io.waybill.device.DeviceRegistry;
import java.util.function.BiConsumer;

/** Registry for the converters of bundles. Thread-safe; called when a bundle's converter is added or removed. */
public interface DeviceConverters {

    /** Adds a converter for devices of this type. There may be several for a type: the implementation chooses. */
    void add(String deviceType, DeviceConverter converter);

    /**
     * Adds a converter for devices of this type.
     *
     * @param failures is given a text for each failure of the converter, and what it threw; null when it threw nothing
     */
    default void add(String deviceType, DeviceConverter converter, BiConsumer<String, Throwable> failures) {
        add(deviceType, converter);
    }

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
            public void add(String deviceType, DeviceConverter converter, BiConsumer<String, Throwable> failures) {
                registry.register(deviceType, converter, failures);
            }

            @Override
            public void remove(String deviceType, DeviceConverter converter) {
                registry.remove(deviceType, converter);
            }
        };
    }
}
