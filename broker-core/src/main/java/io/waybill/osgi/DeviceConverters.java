package io.waybill.osgi;

import io.waybill.api.DeviceConverter;

/** Where the converters of bundles go. Thread-safe; called when a bundle's converter comes or goes. */
public interface DeviceConverters {

    /** A converter for devices of this type came. Several for a type may be there at once: the implementation chooses. */
    void add(String deviceType, DeviceConverter converter);

    /** A converter goes; when this returns it is used no more. */
    void remove(String deviceType, DeviceConverter converter);
}
