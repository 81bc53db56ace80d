package io.waybill.cuda.check;

import io.waybill.cuda.CudaNatives;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;
import java.util.function.ToIntFunction;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;

/** Copies between pinned host memory and the first device, by the driver alone: what the broker's are compared with. For one thread. */
final class BareCopies implements AutoCloseable {

    /** Memory and stream of one copy. */
    private static final class Copy {
        final Pointer host = new Pointer();
        final CUdeviceptr memory = new CUdeviceptr();
        final CUstream stream = new CUstream();
    }

    private final CUdevice device = device(0);
    private final List<Copy> copies = new ArrayList<>();
    private final long bytes;

    /** Prepares up to some copies at a time. */
    BareCopies(long bytes, int max) {
        this.bytes = bytes;
        for (int i = 0; i < max; i++) {
            Copy copy = new Copy();
            within(device, () -> {
                require(JCudaDriver.cuMemAllocHost(copy.host, bytes));
                require(JCudaDriver.cuMemAlloc(copy.memory, bytes));
                return JCudaDriver.cuStreamCreate(copy.stream, CUstream_flags.CU_STREAM_NON_BLOCKING);
            });
            copies.add(copy);
        }
    }

    /** Copies so many times, with up to so many at a time, and waits for all. */
    void toDevice(int count, int inFlight) {
        run(count, inFlight, copy -> JCudaDriver.cuMemcpyHtoDAsync(copy.memory, copy.host, bytes, copy.stream));
    }

    /** Copies so many times, with up to so many at a time, and waits for all. */
    void toHost(int count, int inFlight) {
        run(count, inFlight, copy -> JCudaDriver.cuMemcpyDtoHAsync(copy.host, copy.memory, bytes, copy.stream));
    }

    private void run(int count, int inFlight, ToIntFunction<Copy> begin) {
        within(device, () -> {
            for (int i = 0; i < count; i++) {
                Copy copy = copies.get(i % inFlight);
                require(JCudaDriver.cuStreamSynchronize(copy.stream)); // its last one
                require(begin.applyAsInt(copy));
            }
            copies.subList(0, inFlight).forEach(copy -> require(JCudaDriver.cuStreamSynchronize(copy.stream)));
            return CUresult.CUDA_SUCCESS;
        });
    }

    @Override
    public void close() {
        for (Copy copy : copies) {
            within(device, () -> {
                require(JCudaDriver.cuStreamDestroy(copy.stream));
                require(JCudaDriver.cuMemFree(copy.memory));
                return JCudaDriver.cuMemFreeHost(copy.host);
            });
        }
        require(JCudaDriver.cuDevicePrimaryCtxRelease(device));
    }

    /** Waits for the work of the calling thread's default stream. */
    static void synchronizeThread() {
        CUdevice device = new CUdevice();
        require(JCudaDriver.cuDeviceGet(device, 0));
        within(device, () -> JCudaDriver.cuStreamSynchronize(JCudaDriver.CU_STREAM_PER_THREAD));
    }

    /** Returns bytes of a device, once the work of the calling thread's default stream is complete. */
    static ByteBuffer read(int index, long address, int bytes) {
        CUdevice device = new CUdevice();
        require(JCudaDriver.cuDeviceGet(device, index));
        ByteBuffer host = ByteBuffer.allocateDirect(bytes);
        within(device, () -> {
            require(JCudaDriver.cuStreamSynchronize(JCudaDriver.CU_STREAM_PER_THREAD));
            return JCudaDriver.cuMemcpyDtoH(Pointer.to(host), new CUdeviceptr().withByteOffset(address), bytes);
        });
        return host;
    }

    /** Begins to write zeros on the calling thread's default stream. */
    static void clear(long address, int bytes) {
        CUdevice device = new CUdevice();
        require(JCudaDriver.cuDeviceGet(device, 0));
        within(
                device,
                () -> JCudaDriver.cuMemsetD8Async(
                        new CUdeviceptr().withByteOffset(address), (byte) 0, bytes, JCudaDriver.CU_STREAM_PER_THREAD));
    }

    /** Writes bytes to the first device. */
    static void write(long address, ByteBuffer bytes) {
        CUdevice device = new CUdevice();
        require(JCudaDriver.cuDeviceGet(device, 0));
        within(device, () -> {
            require(JCudaDriver.cuStreamSynchronize(JCudaDriver.CU_STREAM_PER_THREAD));
            require(JCudaDriver.cuMemcpyHtoD(
                    new CUdeviceptr().withByteOffset(address), Pointer.to(bytes), bytes.remaining()));
            return JCudaDriver.cuCtxSynchronize(); // a copy from pageable memory may run on
        });
    }

    /** Returns a device whose context is retained. */
    private static CUdevice device(int index) {
        CudaNatives.load();
        CUdevice device = new CUdevice();
        require(JCudaDriver.cuInit(0));
        require(JCudaDriver.cuDeviceGet(device, index));
        require(JCudaDriver.cuDevicePrimaryCtxRetain(new CUcontext(), device));
        return device;
    }

    private static void within(CUdevice device, IntSupplier work) {
        CUcontext context = new CUcontext();
        require(JCudaDriver.cuDevicePrimaryCtxRetain(context, device));
        require(JCudaDriver.cuCtxPushCurrent(context));
        try {
            require(work.getAsInt());
        } finally {
            require(JCudaDriver.cuCtxPopCurrent(new CUcontext()));
            require(JCudaDriver.cuDevicePrimaryCtxRelease(device));
        }
    }

    static void require(int result) {
        if (result != CUresult.CUDA_SUCCESS) {
            throw new IllegalStateException("the driver failed: " + CUresult.stringFor(result));
        }
    }
}
