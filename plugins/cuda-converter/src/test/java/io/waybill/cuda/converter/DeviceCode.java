package io.waybill.cuda.converter;

import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import java.nio.ByteBuffer;
import java.util.function.IntSupplier;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;

/** What a handler with code for the device does: work on the default stream of its thread, which runs late. */
final class DeviceCode {

    private DeviceCode() {}

    /** Sets one byte of a storage, later. */
    static void set(Storage storage, long offset, int value) {
        CUdeviceptr at = at(storage).withByteOffset(offset);
        within(
                storage.device(),
                () -> JCudaDriver.cuMemsetD8Async(at, (byte) value, 1, JCudaDriver.CU_STREAM_PER_THREAD));
    }

    /** Returns the bytes of a storage after the work that was put on this thread's stream before. */
    static ByteBuffer read(Storage storage) {
        int size = (int) storage.sizeBytes();
        ByteBuffer copy = ByteBuffer.allocateDirect(size);
        if (size > 0) {
            CUdeviceptr from = at(storage);
            within(storage.device(), () -> {
                require(JCudaDriver.cuMemcpyDtoHAsync(Pointer.to(copy), from, size, JCudaDriver.CU_STREAM_PER_THREAD));
                return JCudaDriver.cuStreamSynchronize(JCudaDriver.CU_STREAM_PER_THREAD);
            });
        }
        return copy;
    }

    /** The address of a storage. Work on the default stream of this thread comes after the copy that brings its content. */
    static CUdeviceptr at(Storage storage) {
        return new CUdeviceptr().withByteOffset(storage.deviceAddress());
    }

    /** Runs work with the context of a device current. */
    static void within(Device device, IntSupplier work) {
        CUdevice handle = new CUdevice();
        CUcontext context = new CUcontext();
        require(JCudaDriver.cuDeviceGet(handle, device.index()));
        require(JCudaDriver.cuDevicePrimaryCtxRetain(context, handle));
        require(JCudaDriver.cuCtxPushCurrent(context));
        try {
            require(work.getAsInt());
        } finally {
            require(JCudaDriver.cuCtxPopCurrent(new CUcontext()));
            require(JCudaDriver.cuDevicePrimaryCtxRelease(handle));
        }
    }

    static void require(int result) {
        if (result != CUresult.CUDA_SUCCESS) {
            throw new DeviceCodeException(CUresult.stringFor(result));
        }
    }

    /** A failure of this code, for which it alone is to blame. */
    static final class DeviceCodeException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        DeviceCodeException(String error) {
            super(error);
        }
    }
}
