package io.waybill.osgi.whiteboard;

import io.waybill.api.device.DeviceConverter;
import io.waybill.device.DeviceRegistry;
import java.time.Duration;
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

    /**
     * A converter goes when the messages that use it have ended.
     *
     * @param limit of the wait for them
     * @return the number of messages that still use it
     */
    default int remove(String deviceType, DeviceConverter converter, Duration limit) {
        remove(deviceType, converter);
        return 0;
    }

    /** A converter is about to go, and another one for its type comes: messages wait for that one. */
    default void replacing(String deviceType) {}

    /** Ends {@link #replacing}. */
    default void replaced(String deviceType) {}

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

            @Override
            public int remove(String deviceType, DeviceConverter converter, Duration limit) {
                return registry.remove(deviceType, converter, limit);
            }

            @Override
            public void replacing(String deviceType) {
                registry.replacing(deviceType);
            }

            @Override
            public void replaced(String deviceType) {
                registry.replaced(deviceType);
            }
        };
    }
}
