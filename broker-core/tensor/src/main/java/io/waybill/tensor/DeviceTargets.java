package io.waybill.tensor;

import io.waybill.api.CallException;
import io.waybill.api.tensor.Device;

/** Decides on which device the receiver of a message gets each tensor. Thread-safe. */
@FunctionalInterface
public interface DeviceTargets {

    /**
     * Returns the receiver's device for tensors on one of the sender's.
     *
     * @throws CallException when tensors on this device are not sent to this receiver
     */
    Device target(Device local);

    /** Returns whether the receiver may use tensors in the device memory where the sender has them. */
    default boolean shares() {
        return false;
    }
}
