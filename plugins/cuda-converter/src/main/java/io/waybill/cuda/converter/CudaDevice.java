package io.waybill.cuda.converter;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdevice_attribute;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;

/**
 * One device: its primary context, which it shares with the other users of CUDA in this process, its memory, and the
 * copies.
 *
 * <p><b>Copies.</b> Each runs on a separate stream, after earlier work on the given streams. A copy to the host is
 * complete on return. A copy to the device continues after the return; later work on the given streams, and on streams
 * of threads that request the address, runs after it.
 *
 * <p><b>Threads.</b> Thread-safe. The context is current on a thread only inside a method. <b>Lifetime.</b> After
 * {@link #close} the context stays until the last storage is released.
 */
final class CudaDevice implements DeviceMemoryPool.Source {

    private final Device device;
    private final CUdevice handle;
    private final CUcontext context;
    private final DeviceMemoryPool memory;
    private final CopyStreams toHost = new CopyStreams(this);
    private final CopyStreams toDevice = new CopyStreams(this);
    private final SharedAllocations shared = new SharedAllocations(this);
    private final CopyWait wait;
    private final CudaEvents events;
    private final DeviceThread thread;
    private final AtomicInteger users = new AtomicInteger(1); // storages, and this object until it is closed

    private CudaDevice(Device device, CUdevice handle, CUcontext context, MemoryLimits limits) {
        this.device = device;
        this.handle = handle;
        this.context = context;
        this.events = new CudaEvents(device);
        this.wait = new CopyWait(events);
        this.memory = new DeviceMemoryPool(this, limits.maxBytes(), limits.maxCachedBytes());
        this.thread = new DeviceThread("waybill-" + device.toString().replace(':', '-'));
    }

    /** Opens the device of an index below the number of devices. */
    static CudaDevice open(int index, MemoryLimits limits) throws RejectedMessageException {
        Device device = new Device("cuda", index);
        CUdevice handle = new CUdevice();
        CUcontext context = new CUcontext();
        CudaCalls.check(device, "cuDeviceGet", () -> JCudaDriver.cuDeviceGet(handle, index));
        CudaCalls.check(
                device, "cuDevicePrimaryCtxRetain", () -> JCudaDriver.cuDevicePrimaryCtxRetain(context, handle));
        return new CudaDevice(device, handle, context, limits);
    }

    /** Applies other limits of its memory, without an effect on used memory. */
    void change(MemoryLimits limits) {
        memory.change(limits);
        thread.run(() -> anyhow(memory::trim));
    }

    /** Work that needs the current context. */
    interface Work<T> {
        T run() throws RejectedMessageException;
    }

    /** Runs work with the context current on this thread, and restores the previous one. */
    <T> T within(Work<T> work) throws RejectedMessageException {
        CudaCalls.check(this, "cuCtxPushCurrent", () -> JCudaDriver.cuCtxPushCurrent(context));
        try {
            return work.run();
        } finally {
            CudaCalls.error(() -> JCudaDriver.cuCtxPopCurrent(new CUcontext()));
        }
    }

    /** Copies device memory to the host. Complete on return. */
    void copyToHost(long from, Storage to, List<ThreadStream> after) throws RejectedMessageException {
        long size = to.sizeBytes();
        if (size == 0) {
            return;
        }
        within(() -> {
            CUstream copy = toHost.take();
            boolean isComplete = false;
            try {
                events.awaitAll(copy, after);
                long begunNs = System.nanoTime();
                CudaCalls.check(
                        this,
                        "cuMemcpyDtoHAsync",
                        () -> JCudaDriver.cuMemcpyDtoHAsync(new HostPointer(to.address()), onDevice(from), size, copy));
                events.after(copy, copied -> wait.await(copied, size, begunNs));
                isComplete = true;
            } finally {
                if (isComplete) {
                    toHost.giveBack(copy);
                } else {
                    toHost.discard(copy);
                }
            }
            return null;
        });
    }

    /** Begins a copy of a storage to memory of this device, on a stream. */
    private interface Transfer {
        void begin(long to, CUstream stream) throws RejectedMessageException;
    }

    /** Copies bytes of the host to new memory of the result. The source is retained while the copy runs. */
    CudaStorage copyToDevice(Storage from, List<ThreadStream> before) throws RejectedMessageException {
        return copy(
                from,
                before,
                (to, stream) -> CudaCalls.check(
                        this,
                        "cuMemcpyHtoDAsync",
                        () -> JCudaDriver.cuMemcpyHtoDAsync(
                                onDevice(to), new HostPointer(from.readAddress()), from.sizeBytes(), stream)));
    }

    /**
     * Copies a storage of another device, whose content is complete, to new memory. The source is retained while the
     * copy runs.
     */
    CudaStorage copyFromPeer(CudaDevice peer, Storage from, List<ThreadStream> before) throws RejectedMessageException {
        long address = from.deviceAddress();
        return copy(
                from,
                before,
                (to, stream) -> CudaCalls.check(
                        this,
                        "cuMemcpyPeerAsync from " + peer,
                        () -> JCudaDriver.cuMemcpyPeerAsync(
                                onDevice(to), context, onDevice(address), peer.context, from.sizeBytes(), stream)));
    }

    private CudaStorage copy(Storage from, List<ThreadStream> before, Transfer transfer)
            throws RejectedMessageException {
        return within(() -> {
            MemoryBlock block = memory.take(from.sizeBytes());
            ArrivingCopy arrival = begin(from, block, before, transfer);
            users.incrementAndGet();
            thread.run(() -> anyhow(arrival::complete));
            PooledMemory pooled = new PooledMemory(this, block.idleAfter(null), arrival);
            return new CudaStorage(this, pooled, from.sizeBytes());
        });
    }

    private ArrivingCopy begin(Storage from, MemoryBlock to, List<ThreadStream> before, Transfer transfer)
            throws RejectedMessageException {
        CUstream copy = null;
        CUevent copied = null;
        boolean isBegun = false;
        try {
            copy = toDevice.take();
            copied = events.create();
            enqueue(from, to, copy, copied, transfer);
            for (ThreadStream stream : before) {
                events.await(stream.handle(), copied);
            }
            ArrivingCopy arrival = new ArrivingCopy(this, from, copied);
            isBegun = true;
            return arrival;
        } finally {
            end(copy, copied, to, isBegun);
        }
    }

    private void enqueue(Storage from, MemoryBlock to, CUstream copy, CUevent copied, Transfer transfer)
            throws RejectedMessageException {
        if (to.idle() != null) {
            events.await(copy, to.idle());
        }
        if (from.sizeBytes() > 0) {
            transfer.begin(to.address(), copy);
        }
        events.record(copied, copy);
    }

    private void end(CUstream copy, CUevent copied, MemoryBlock block, boolean isBegun) {
        if (isBegun) {
            toDevice.giveBack(copy);
            if (block.idle() != null) {
                events.destroy(block.idle());
            }
            return;
        }
        if (copy != null) {
            toDevice.discard(copy);
        }
        if (copied != null) {
            events.destroy(copied);
        }
        memory.discard(block);
    }

    /** Makes the default stream of the calling thread wait for a copy. */
    void orderAfter(ArrivingCopy arrival) throws RejectedMessageException {
        within(() -> arrival.orderBefore(JCudaDriver.CU_STREAM_PER_THREAD));
    }

    /** Takes back the memory of a storage, for reuse after its last users. Never blocks or throws. */
    void giveBack(MemoryBlock block, ArrivingCopy arrival, CudaStorage.Use use) {
        try {
            boolean isTooMuch = within(() -> memory.giveBack(block.idleAfter(idle(arrival, use))));
            if (isTooMuch) {
                thread.run(() -> anyhow(memory::trim));
            }
            left();
        } catch (RejectedMessageException e) { // without an event, all users of the memory must finish first
            thread.run(() -> discard(block));
        }
    }

    private void discard(MemoryBlock block) {
        anyhow(() -> {
            CudaCalls.error(JCudaDriver::cuCtxSynchronize);
            memory.discard(block);
        });
        left();
    }

    /**
     * Runs work with the context current; without it if the context was destroyed, together with all work and memory.
     */
    private void anyhow(Runnable work) {
        try {
            within(() -> {
                work.run();
                return null;
            });
        } catch (RejectedMessageException e) {
            work.run();
        }
    }

    /** Makes the memory of a storage of another process usable. */
    CudaStorage open(SharedHandle handle, Storage ofSender) throws RejectedMessageException {
        StorageMemory opened = shared.open(handle, ofSender);
        users.incrementAndGet();
        return new CudaStorage(this, opened, ofSender.sizeBytes());
    }

    /**
     * Runs a task on the device's thread, after the work of a storage's users on their streams. Never blocks or throws.
     */
    void after(CudaStorage.Use use, Runnable end) {
        Runnable wait = waitFor(use);
        thread.run(() -> {
            anyhow(wait);
            end.run();
            left();
        });
    }

    /** Returns an action that waits for the present work of users on their streams. */
    private Runnable waitFor(CudaStorage.Use use) {
        if (use == CudaStorage.Use.NONE) {
            return () -> {};
        }
        try {
            CUevent idle = within(() -> events.recorded(streamOf(use)));
            return () -> {
                CudaCalls.error(() -> JCudaDriver.cuEventSynchronize(idle));
                events.destroy(idle);
            };
        } catch (RejectedMessageException e) { // without an event, all work must finish first
            return () -> CudaCalls.error(JCudaDriver::cuCtxSynchronize);
        }
    }

    /**
     * Creates a handle with which other processes open the allocation of an address, after the present work on some
     * streams is complete.
     *
     * @return the handle; empty if the driver can't share the allocation
     */
    Optional<SharedHandle> share(long address, long id, List<ThreadStream> streams) throws RejectedMessageException {
        return within(() -> {
            for (ThreadStream each : streams) {
                events.after(each.handle(), events::synchronize);
            }
            return shared.share(handle, address, id);
        });
    }

    private static CUstream streamOf(CudaStorage.Use use) {
        return use == CudaStorage.Use.ALL_THREADS ? JCudaDriver.CU_STREAM_LEGACY : JCudaDriver.CU_STREAM_PER_THREAD;
    }

    private CUevent idle(ArrivingCopy arrival, CudaStorage.Use use) throws RejectedMessageException {
        CUstream stream = streamOf(use);
        boolean isPending = arrival.orderBefore(stream);
        return isPending || use != CudaStorage.Use.NONE ? events.recorded(stream) : null;
    }

    @Override
    public long allocate(long sizeBytes) throws RejectedMessageException {
        DeviceAddress allocated = new DeviceAddress();
        CudaCalls.check(
                this, "cuMemAlloc of " + sizeBytes + " bytes", () -> JCudaDriver.cuMemAlloc(allocated, sizeBytes));
        return allocated.value();
    }

    @Override
    public void free(MemoryBlock block) {
        if (block.idle() != null) {
            CudaCalls.error(() -> JCudaDriver.cuEventSynchronize(block.idle()));
            events.destroy(block.idle());
        }
        CudaCalls.error(() -> JCudaDriver.cuMemFree(onDevice(block.address()))); // a failed device has no memory
    }

    static CUdeviceptr onDevice(long address) {
        return new CUdeviceptr().withByteOffset(address);
    }

    /** Runs a task on the device's thread. */
    void later(Runnable task) {
        thread.run(task);
    }

    /** Runs a task on the device's thread after a delay; immediately on the calling thread if the device is closed. */
    void later(Runnable task, long delayMs) {
        thread.run(task, delayMs);
    }

    /** Waits for the copies to the device that have started. */
    void drain() {
        thread.drain();
    }

    /** Returns whether host memory that this process can't write can be pinned. */
    boolean pinsForReading() {
        int[] value = new int[1];
        String error = CudaCalls.error(() -> JCudaDriver.cuDeviceGetAttribute(
                value, CUdevice_attribute.CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, handle));
        return error.isEmpty() && value[0] != 0;
    }

    CudaEvents events() {
        return events;
    }

    Device device() {
        return device;
    }

    /** Returns the open resources of this device. */
    CudaFigures figures() {
        return new CudaFigures(
                memory.inUseBytes(),
                memory.cachedBytes(),
                toHost.open() + toDevice.open(),
                events.count(),
                users.get() > 0 ? 1 : 0,
                0,
                shared.count());
    }

    /** Waits for the copies, and frees unused memory. */
    void close() {
        thread.close();
        anyhow(() -> {
            toHost.close();
            toDevice.close();
            memory.close();
        });
        left();
    }

    private void left() {
        if (users.decrementAndGet() == 0) {
            CudaCalls.error(() -> JCudaDriver.cuDevicePrimaryCtxRelease(handle));
        }
    }

    @Override
    public String toString() {
        return device.toString();
    }

    /** Memory of the pool, to which a copy may still run. Takes the block over. */
    private record PooledMemory(CudaDevice device, MemoryBlock block, ArrivingCopy arrival) implements StorageMemory {

        @Override
        public long address() {
            return block.address();
        }

        @Override
        public void orderThread() throws RejectedMessageException {
            device.orderAfter(arrival);
        }

        @Override
        public void giveBack(CudaStorage.Use use) {
            device.giveBack(block, arrival, use);
        }
    }
}
