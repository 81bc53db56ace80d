package io.waybill.cuda.converter;

import jcuda.driver.CUdeviceptr;

/** An address that the driver returns. */
final class DeviceAddress extends CUdeviceptr {

    private static final long serialVersionUID = 1L;

    long value() {
        return getNativePointer();
    }
}
