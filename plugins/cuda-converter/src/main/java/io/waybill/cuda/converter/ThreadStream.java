package io.waybill.cuda.converter;

import io.waybill.api.device.DeviceStream;
import io.waybill.api.tensor.Device;
import jcuda.driver.CUstream;

/**
 * The default stream of one thread on one device, which has the same handle in each thread: used only by that thread.
 * Work on the legacy default stream is ordered with it by the driver.
 */
record ThreadStream(Device device, CUstream handle) implements DeviceStream {}
