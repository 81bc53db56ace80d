package io.waybill.cuda.converter;

import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.IntBinaryOperator;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUevent_flags;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;

/**
 * Arithmetic on the bytes of device memory, on streams of its own, as a library with kernels does it: its streams wait for the default stream of the
 * calling thread, and that one for them. The driver of the tests has no kernels, so the bytes are taken to pinned memory, computed there by a host function,
 * and taken back, all in the order of the stream. Nothing is complete on return.
 *
 * <p><b>Threads.</b> Any. <b>Lifetime.</b> Pinned memory is freed by {@link #close}, while the contexts are still retained.
 */
final class DeviceMath implements AutoCloseable {

    private final Queue<Map.Entry<Device, Pointer>> scratch = new ConcurrentLinkedQueue<>();

    /** Work on a stream of a device. */
    private interface Work {
        void on(CUstream stream);
    }

    /** Puts the result of an operation on the bytes of two storages into a third one on the same device, later. */
    void compute(Storage to, Storage left, Storage right, IntBinaryOperator operation) {
        CUdeviceptr target = DeviceCode.at(to);
        CUdeviceptr x = DeviceCode.at(left);
        CUdeviceptr y = DeviceCode.at(right);
        int size = (int) to.sizeBytes();
        onAStream(to.device(), stream -> {
            ByteBuffer memory = pinned(to.device(), 2 * size);
            Pointer at = Pointer.to(memory);
            DeviceCode.require(JCudaDriver.cuMemcpyDtoHAsync(at, x, size, stream));
            DeviceCode.require(JCudaDriver.cuMemcpyDtoHAsync(at.withByteOffset(size), y, size, stream));
            DeviceCode.require(JCudaDriver.cuLaunchHostFunc(
                    stream,
                    data -> {
                        for (int i = 0; i < size; i++) {
                            memory.put(i, (byte) operation.applyAsInt(memory.get(i), memory.get(size + i)));
                        }
                    },
                    null));
            DeviceCode.require(JCudaDriver.cuMemcpyHtoDAsync(target, at, size, stream));
        });
    }

    /** Copies a storage to one on another device, later. */
    void copyBetween(Storage to, Storage from) {
        CUdeviceptr target = DeviceCode.at(to);
        CUdeviceptr source = DeviceCode.at(from);
        CUcontext there = context(to.device());
        CUcontext here = context(from.device());
        CUevent event = new CUevent();
        DeviceCode.within(to.device(), () -> {
            DeviceCode.require(JCudaDriver.cuEventCreate(event, CUevent_flags.CU_EVENT_DISABLE_TIMING));
            return JCudaDriver.cuEventRecord(event, JCudaDriver.CU_STREAM_PER_THREAD);
        });
        onAStream(from.device(), stream -> {
            DeviceCode.require(JCudaDriver.cuStreamWaitEvent(stream, event, 0));
            DeviceCode.require(JCudaDriver.cuMemcpyPeerAsync(target, there, source, here, to.sizeBytes(), stream));
        });
        // the target's stream waits for the source's, which waits for the copy
        DeviceCode.within(from.device(), () -> {
            CUevent copied = new CUevent();
            DeviceCode.require(JCudaDriver.cuEventCreate(copied, CUevent_flags.CU_EVENT_DISABLE_TIMING));
            DeviceCode.require(JCudaDriver.cuEventRecord(copied, JCudaDriver.CU_STREAM_PER_THREAD));
            DeviceCode.within(
                    to.device(), () -> JCudaDriver.cuStreamWaitEvent(JCudaDriver.CU_STREAM_PER_THREAD, copied, 0));
            return JCudaDriver.cuEventDestroy(copied);
        });
        DeviceCode.within(to.device(), () -> JCudaDriver.cuEventDestroy(event));
    }

    /** The primary context of a device, which a converter retains. */
    private static CUcontext context(Device device) {
        CUcontext current = new CUcontext();
        DeviceCode.within(device, () -> JCudaDriver.cuCtxGetCurrent(current));
        return current;
    }

    /** Runs work on a new stream, behind this thread's default stream, which then waits for it. */
    private static void onAStream(Device device, Work work) {
        DeviceCode.within(device, () -> {
            CUstream stream = new CUstream();
            CUevent event = new CUevent();
            DeviceCode.require(JCudaDriver.cuStreamCreate(stream, CUstream_flags.CU_STREAM_NON_BLOCKING));
            DeviceCode.require(JCudaDriver.cuEventCreate(event, CUevent_flags.CU_EVENT_DISABLE_TIMING));
            DeviceCode.require(JCudaDriver.cuEventRecord(event, JCudaDriver.CU_STREAM_PER_THREAD));
            DeviceCode.require(JCudaDriver.cuStreamWaitEvent(stream, event, 0));
            work.on(stream);
            DeviceCode.require(JCudaDriver.cuEventRecord(event, stream));
            DeviceCode.require(JCudaDriver.cuStreamWaitEvent(JCudaDriver.CU_STREAM_PER_THREAD, event, 0));
            DeviceCode.require(JCudaDriver.cuEventDestroy(event));
            return JCudaDriver.cuStreamDestroy(stream); // what is on it still runs
        });
    }

    private ByteBuffer pinned(Device device, int size) {
        Pointer memory = new Pointer();
        DeviceCode.require(JCudaDriver.cuMemAllocHost(memory, size));
        scratch.add(Map.entry(device, memory));
        return memory.getByteBuffer(0, size);
    }

    /** Waits for the work, and frees what it used. */
    @Override
    public void close() {
        for (Map.Entry<Device, Pointer> each : scratch) {
            DeviceCode.within(each.getKey(), () -> {
                DeviceCode.require(JCudaDriver.cuCtxSynchronize());
                return JCudaDriver.cuMemFreeHost(each.getValue());
            });
        }
        scratch.clear();
    }
}
