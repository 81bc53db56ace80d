package io.waybill.osgi.whiteboard;

import io.waybill.api.device.DeviceConverter;
import io.waybill.device.DeviceRegistry;
import java.time.Duration;
import java.util.function.BiConsumer;

/** Registry for the converters of bundles. Thread-safe; called when a bundle's converter is added or removed. */
public interface DeviceConverters {

    /** Adds a converter for devices of this type. If there are several for a type, the implementation chooses one. */
    void add(String deviceType, DeviceConverter converter);

    /**
     * Adds a converter for devices of this type.
     *
     * @param failures receives a text for each failure of the converter, and the exception; null if it threw none
     */
    default void add(String deviceType, DeviceConverter converter, BiConsumer<String, Throwable> failures) {
        add(deviceType, converter);
    }

    /** Removes a converter. */
    void remove(String deviceType, DeviceConverter converter);

    /**
     * Removes a converter after the messages that use it have completed.
     *
     * @param limit max time to wait for them
     * @return the number of messages that still use it
     */
    default int remove(String deviceType, DeviceConverter converter, Duration limit) {
        remove(deviceType, converter);
        return 0;
    }

    /** Announces that a converter will be replaced by another one for its type: messages wait for the new one. */
    default void replacing(String deviceType) {}

    /** Reverts {@link #replacing}. */
    default void replaced(String deviceType) {}

    /** Creates an adapter that puts converters into a registry. */
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
