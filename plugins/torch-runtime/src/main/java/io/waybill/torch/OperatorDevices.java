package io.waybill.torch;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Tensor;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.DeviceOptional;
import org.bytedeco.pytorch.PointerConsumer;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.DeviceType;

/**
 * The devices on which operators run: the processor, and GPUs if libtorch was built for CUDA, which the distribution's
 * was not. A tensor on a GPU is used where it is. libtorch works on the legacy default stream, which the driver orders
 * with the default streams of threads, and so with the copies of a converter.
 *
 * <p>Stateless.
 */
final class OperatorDevices {

    private static final String CUDA = "cuda";

    private OperatorDevices() {}

    /**
     * Checks that operators can use a tensor where it is.
     *
     * @throws RejectedMessageException {@link ErrorCode#DEVICE_UNAVAILABLE}
     */
    static void require(Tensor tensor) throws RejectedMessageException {
        Device device = tensor.device();
        if (device.isCpu() || isCuda(device) && torch.hasCUDA()) {
            return;
        }
        String missing = isCuda(device)
                ? ": this libtorch has no CUDA; let the device map lead to cpu, or install a libtorch for CUDA"
                : "";
        throw new RejectedMessageException(
                ErrorCode.DEVICE_UNAVAILABLE, "operators run on cpu here, and " + tensor + " is not there" + missing);
    }

    /**
     * Checks that a sparse tensor's parts are in host memory, where its indices are checked.
     *
     * @throws RejectedMessageException {@link ErrorCode#DEVICE_UNAVAILABLE}
     */
    static void requireHost(Tensor part) throws RejectedMessageException {
        require(part);
        if (!part.device().isCpu()) {
            throw new RejectedMessageException(
                    ErrorCode.DEVICE_UNAVAILABLE, "operators take sparse tensors from cpu alone, and found " + part);
        }
    }

    private static boolean isCuda(Device device) {
        return device.type().equals(CUDA);
    }

    /** Returns options with a device: the same ones for host memory. */
    static TensorOptions on(Device device, TensorOptions options) {
        return device.isCpu() ? options : options.device(optional(device));
    }

    /** Makes a tensor over bytes that others own, where they are. */
    static org.bytedeco.pytorch.Tensor over(Device device, long address, long[] sizes, TensorOptions options) {
        if (device.isCpu()) {
            return torch.from_blob(new Address(address), sizes, options);
        }
        PointerConsumer keeps = null; // frees nothing
        return torch.from_blob(new Address(address), sizes, keeps, options, optional(device));
    }

    private static DeviceOptional optional(Device device) {
        byte index = (byte) Math.max(device.index(), 0);
        return new DeviceOptional(new org.bytedeco.pytorch.Device(DeviceType.CUDA, index));
    }

    /** Returns the device of a tensor whose bytes are in host memory or on a GPU. */
    @SuppressWarnings("try")
    static Device of(org.bytedeco.pytorch.Tensor tensor) {
        if (tensor.is_cpu()) {
            return Device.CPU;
        }
        try (PointerScope scope = new PointerScope()) {
            return new Device(CUDA, tensor.device().index());
        }
    }
}
