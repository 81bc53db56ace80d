package io.waybill.cuda.converter;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Storage;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUipcMemHandle;
import jcuda.driver.CUuuid;
import jcuda.driver.JCudaDriver;
import jcuda.driver.SharedMemory;

/**
 * Shared allocations of one device: handles of this process's allocations, and open allocations of other processes.
 * Each of these is open once, while a storage uses it and {@value #REST_MS} ms longer, because opening and closing take
 * longer than a call. An allocation is closed before the release of its last storage is reported to the sender, which
 * may then free the allocation.
 *
 * <p><b>Threads.</b> Thread-safe. The driver is called with the lock held, so that an allocation is not opened while it
 * is closed.
 */
final class SharedAllocations {

    private static final Logger LOG = System.getLogger(SharedAllocations.class.getName());
    private static final long REST_MS = 2;
    private static final int LAZY_PEER_ACCESS = 1; // the driver's only flag

    private final CudaDevice device;
    private final AtomicBoolean isWarned = new AtomicBoolean();
    private final Map<ByteBuffer, Allocation> open = new HashMap<>(); // guarded by this

    SharedAllocations(CudaDevice device) {
        this.device = device;
    }

    /** An allocation of another process. Its count is guarded by its owner. */
    private static final class Allocation {
        private final ByteBuffer handle;
        private final long address;
        private final long sizeBytes;
        private int uses;
        private Storage resting; // keeps the sender from freeing the unused allocation; null while it is in use

        Allocation(ByteBuffer handle, long address, long sizeBytes) {
            this.handle = handle;
            this.address = address;
            this.sizeBytes = sizeBytes;
        }
    }

    /**
     * Creates a handle with which other processes open the allocation of an address. The context is current.
     *
     * @param handle handle of the device
     * @return the handle; empty if the driver can't share the allocation
     */
    Optional<SharedHandle> share(CUdevice handle, long address, long id) throws RejectedMessageException {
        DeviceAddress base = new DeviceAddress();
        CUipcMemHandle allocation = new CUipcMemHandle();
        String error = CudaCalls.error(
                () -> JCudaDriver.cuMemGetAddressRange(base, new long[1], CudaDevice.onDevice(address)));
        if (error.isEmpty()) {
            error = CudaCalls.error(() -> JCudaDriver.cuIpcGetMemHandle(allocation, base));
        }
        if (!error.isEmpty()) {
            LOG.log(
                    isWarned.getAndSet(true) ? Level.DEBUG : Level.WARNING,
                    device + ": tensors are copied, because the driver does not share their memory: " + error);
            return Optional.empty();
        }
        return Optional.of(new SharedHandle(id, uuid(handle), address - base.value(), SharedMemory.bytes(allocation)));
    }

    /** Returns the id of a device, which is the same in all processes. */
    static UUID uuid(int index) throws RejectedMessageException {
        CUdevice handle = new CUdevice();
        CudaCalls.check("cuda:" + index, "cuDeviceGet", () -> JCudaDriver.cuDeviceGet(handle, index));
        return uuid(handle);
    }

    private static UUID uuid(CUdevice handle) throws RejectedMessageException {
        CUuuid uuid = new CUuuid();
        CudaCalls.check("cuda", "cuDeviceGetUuid", () -> JCudaDriver.cuDeviceGetUuid(uuid, handle));
        ByteBuffer bytes = ByteBuffer.wrap(uuid.bytes);
        return new UUID(bytes.getLong(), bytes.getLong());
    }

    /**
     * Opens the memory of a storage.
     *
     * @param shared stand-in for the sender's storage, retained until the memory is closed
     */
    StorageMemory open(SharedHandle handle, Storage shared) throws RejectedMessageException {
        Allocation allocation = use(ByteBuffer.wrap(handle.allocation()));
        boolean isInside = handle.offset() >= 0
                && shared.sizeBytes() <= allocation.sizeBytes
                && handle.offset() <= allocation.sizeBytes - shared.sizeBytes();
        if (!isInside) {
            ended(allocation, shared.retain());
            throw new RejectedMessageException(
                    ErrorCode.PEER_CORRUPT,
                    device + ": expected a storage inside an allocation of " + allocation.sizeBytes + " bytes, found "
                            + shared.sizeBytes() + " bytes at " + handle.offset());
        }
        return new Opened(allocation, allocation.address + handle.offset(), shared.retain());
    }

    private Allocation use(ByteBuffer handle) throws RejectedMessageException {
        Allocation allocation;
        Storage rested;
        synchronized (this) {
            allocation = open.get(handle);
            if (allocation == null) {
                allocation = device.within(() -> opened(handle));
                open.put(handle, allocation);
            }
            allocation.uses++;
            rested = allocation.resting; // the new user's storage keeps the allocation, too
            allocation.resting = null;
        }
        release(rested);
        return allocation;
    }

    /**
     * Ends one use of an allocation, which stays open for a while after the last use. Takes ownership of a count of the
     * storage.
     */
    private void ended(Allocation allocation, Storage shared) {
        boolean rests;
        synchronized (this) {
            rests = --allocation.uses == 0;
            allocation.resting = rests ? shared : null;
        }
        if (rests) {
            device.later(() -> close(allocation, shared), REST_MS);
        } else {
            release(shared);
        }
    }

    /** Closes an allocation that was unused since the release of a storage. */
    private void close(Allocation allocation, Storage shared) {
        synchronized (this) {
            if (allocation.resting != shared) {
                return; // used again meanwhile
            }
            allocation.resting = null;
            open.remove(allocation.handle);
            close(allocation.address);
        }
        release(shared);
    }

    private Allocation opened(ByteBuffer handle) throws RejectedMessageException {
        DeviceAddress address = new DeviceAddress();
        String error = CudaCalls.error(
                () -> JCudaDriver.cuIpcOpenMemHandle(address, SharedMemory.handle(handle.array()), LAZY_PEER_ACCESS));
        if (!error.isEmpty()) {
            throw new RejectedMessageException(
                    ErrorCode.DEVICE_UNAVAILABLE,
                    device + ": memory that the sender shares can't be opened here: cuIpcOpenMemHandle failed: " + error
                            + "; take this worker out of the sender's tensor.device-sharing");
        }
        long[] size = new long[1];
        boolean isKnown = false;
        try {
            CudaCalls.check(
                    device,
                    "cuMemGetAddressRange",
                    () -> JCudaDriver.cuMemGetAddressRange(new CUdeviceptr(), size, address));
            isKnown = true;
        } finally {
            if (!isKnown) {
                CudaCalls.error(() -> JCudaDriver.cuIpcCloseMemHandle(address));
            }
        }
        return new Allocation(handle, address.value(), size[0]);
    }

    private void close(long address) {
        try {
            device.within(() -> {
                CudaCalls.check(
                        device,
                        "cuIpcCloseMemHandle",
                        () -> JCudaDriver.cuIpcCloseMemHandle(CudaDevice.onDevice(address)));
                return null;
            });
        } catch (RejectedMessageException e) {
            // the memory is lost
            LOG.log(Level.DEBUG, "Memory of another process could not be closed: {0}", e.getMessage());
        }
    }

    private void release(Storage shared) {
        if (shared == null) {
            return;
        }
        try {
            shared.release();
        } catch (RuntimeException e) { // the boundary around a storage
            LOG.log(Level.WARNING, "A storage that was shared on " + device + " could not be released", e);
        }
    }

    /** Returns the number of open allocations. */
    synchronized int count() {
        return open.size();
    }

    /** A used part of an allocation. Its content was complete before it was shared. */
    private final class Opened implements StorageMemory {
        private final Allocation allocation;
        private final long address;
        private final Storage shared;

        Opened(Allocation allocation, long address, Storage shared) {
            this.allocation = allocation;
            this.address = address;
            this.shared = shared;
        }

        @Override
        public long address() {
            return address;
        }

        @Override
        public void orderThread() {
            // no copy to wait for
        }

        @Override
        public void giveBack(CudaStorage.Use use) {
            device.after(use, () -> ended(allocation, shared));
        }
    }
}
