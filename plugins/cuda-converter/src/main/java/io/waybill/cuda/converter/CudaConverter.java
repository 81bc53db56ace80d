package io.waybill.cuda.converter;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.device.ConvertsDevice;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.device.MappedSegment;
import io.waybill.api.device.MappingListener;
import io.waybill.api.device.MemorySharing;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.TensorBuffers;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import jcuda.LibUtilsCuda;
import jcuda.driver.JCudaDriver;
import jcuda.driver.SharedMemory;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Modified;

/**
 * Converter of tensors between messages and NVIDIA GPUs. Without a GPU or its driver it is unavailable, and reports the
 * reason.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Lifetime.</b> A device is opened by the first tensor on it. After {@link #close}
 * storages stay usable until they are released.
 */
@Component(service = DeviceConverter.class)
@ConvertsDevice("cuda")
public final class CudaConverter implements DeviceConverter, MappingListener, MemorySharing {

    private static final Logger LOG = System.getLogger(CudaConverter.class.getName());

    /** Settings, under the PID {@code io.waybill.cuda.converter.CudaConverter}. */
    public @interface Config {

        /** Max MiB of each device for tensors; 0 for no limit. */
        long memory_limit_mb() default 0;

        /** Max MiB of each device that are cached for later tensors. */
        long cache_limit_mb() default 256;
    }

    private final String reason; // empty if CUDA is available
    private final int deviceCount;
    private final PinnedSegments pinned = new PinnedSegments();
    // guarded by this
    private final Map<Integer, CudaDevice> devices = new TreeMap<>();
    private MemoryLimits limits;
    private boolean closed;

    @Activate
    public CudaConverter(Config config) {
        this(config.memory_limit_mb(), config.cache_limit_mb());
    }

    /** Creates a converter with the limits of {@link Config}. */
    public CudaConverter(long memoryLimitMb, long cacheLimitMb) {
        limits = limits(memoryLimitMb, cacheLimitMb);
        int[] count = new int[1];
        reason = problem(count);
        deviceCount = count[0];
        if (reason.isEmpty()) {
            LOG.log(Level.INFO, "CUDA is available: {0} devices", deviceCount);
        } else {
            LOG.log(Level.INFO, "CUDA is unavailable: {0}", reason);
        }
    }

    private static MemoryLimits limits(long memoryMb, long cacheMb) {
        return new MemoryLimits(Math.multiplyExact(memoryMb, 1L << 20), Math.multiplyExact(cacheMb, 1L << 20));
    }

    /**
     * Applies changed settings, without an effect on existing tensors and devices. If one is invalid, none is applied.
     */
    @Modified
    synchronized void change(Config config) {
        try {
            limits = limits(config.memory_limit_mb(), config.cache_limit_mb());
            for (CudaDevice device : devices.values()) {
                device.change(limits);
            }
        } catch (IllegalArgumentException | ArithmeticException e) {
            LOG.log(
                    Level.ERROR,
                    "The settings stay as they were until conf/" + CudaConverter.class.getName() + ".cfg is right: "
                            + e.getMessage());
        }
    }

    private static String problem(int[] count) {
        try {
            // first, because JCudaDriver also loads it, but a failure there is permanent
            LibUtilsCuda.loadLibrary("JCudaDriver-");
        } catch (UnsatisfiedLinkError e) {
            return e.getMessage();
        }
        String error = CudaCalls.error(() -> JCudaDriver.cuInit(0));
        if (!error.isEmpty()) {
            return "NVIDIA's driver is there, and finds no GPU that can be used: cuInit failed: " + error;
        }
        error = CudaCalls.error(() -> JCudaDriver.cuDeviceGetCount(count));
        if (!error.isEmpty()) {
            return "cuDeviceGetCount failed: " + error;
        }
        return count[0] > 0 ? "" : "NVIDIA's driver is there, and finds no GPU";
    }

    @Override
    public Optional<String> unavailable() {
        return reason.isEmpty() ? Optional.empty() : Optional.of(reason);
    }

    @Override
    public List<DeviceStream> streams(Device device) throws RejectedMessageException {
        return List.of(new ThreadStream(device(device).device(), JCudaDriver.CU_STREAM_PER_THREAD));
    }

    @Override
    public Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers)
            throws RejectedMessageException {
        CudaDevice device = device(storage.device());
        long address = addressOf(storage);
        Storage copy = buffers.allocate(storage.sizeBytes());
        boolean copied = false;
        try {
            pinned.copy(() -> {
                device.copyToHost(address, copy, ofThread(streams));
                return null;
            });
            copied = true;
            return Optional.of(copy);
        } finally {
            if (!copied) {
                copy.release();
            }
        }
    }

    /**
     * Returns the address of a storage, also of one from an earlier version of this class. The calling thread's stream
     * waits for its content.
     */
    private static long addressOf(Storage storage) throws RejectedMessageException {
        try {
            return storage.deviceAddress();
        } catch (CallException e) {
            throw new RejectedMessageException(e.code(), e.getMessage(), e);
        }
    }

    @Override
    public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams)
            throws RejectedMessageException {
        CudaDevice device = device(target);
        return pinned.copy(() -> device.copyToDevice(arrived, ofThread(streams)));
    }

    @Override
    public Optional<ByteBuffer> share(Storage storage, List<DeviceStream> streams) throws RejectedMessageException {
        CudaDevice device = device(storage.device());
        return device.share(addressOf(storage), SharedMemory.idOf(storage), ofThread(streams))
                .map(SharedHandle::encode);
    }

    @Override
    public Storage open(ByteBuffer handle, Storage shared, Device target, List<DeviceStream> streams)
            throws RejectedMessageException {
        SharedHandle decoded = SharedHandle.decode(handle);
        CudaDevice device = device(target);
        Storage source = SharedMemory.find(decoded.id()) instanceof Storage own
                ? retained(own, shared)
                : deviceOf(decoded).open(decoded, shared);
        if (source.device().equals(device.device())) {
            return source;
        }
        try {
            return device.copyFromPeer(device(source.device()), source, ofThread(streams));
        } finally {
            source.release();
        }
    }

    /** Returns a storage that this process shares itself. */
    private static Storage retained(Storage own, Storage shared) throws RejectedMessageException {
        if (own.sizeBytes() != shared.sizeBytes()) {
            throw new RejectedMessageException(
                    ErrorCode.PEER_CORRUPT,
                    "expected a shared storage of " + own.sizeBytes() + " bytes, found one of " + shared.sizeBytes());
        }
        try {
            return own.retain();
        } catch (IllegalStateException e) {
            throw new RejectedMessageException(
                    ErrorCode.PEER_CORRUPT, "a message shares a storage that is released", e);
        }
    }

    /** Returns the device that has the memory. */
    private CudaDevice deviceOf(SharedHandle handle) throws RejectedMessageException {
        for (int i = 0; i < deviceCount; i++) {
            if (SharedAllocations.uuid(i).equals(handle.device())) {
                return device(new Device("cuda", i));
            }
        }
        throw new RejectedMessageException(
                ErrorCode.DEVICE_UNAVAILABLE,
                "the sender shares memory of GPU-" + handle.device() + ", which is not among the " + deviceCount
                        + " devices of this process; take this worker out of the sender's tensor.device-sharing");
    }

    private static List<ThreadStream> ofThread(List<DeviceStream> streams) {
        return streams.stream().map(ThreadStream.class::cast).toList();
    }

    /** Returns an open device. */
    private synchronized CudaDevice device(Device device) throws RejectedMessageException {
        int index = Math.max(device.index(), 0);
        if (closed) {
            throw new RejectedMessageException(ErrorCode.DEVICE_LOST, "the converter for " + device + " has ended");
        }
        CudaDevice open = devices.get(index);
        if (open != null) {
            return open;
        }
        if (!reason.isEmpty() || index >= deviceCount) {
            throw new RejectedMessageException(
                    ErrorCode.DEVICE_UNAVAILABLE,
                    reason.isEmpty()
                            ? "expected a device from cuda:0 to cuda:" + (deviceCount - 1) + ", found " + device
                            : reason);
        }
        CudaDevice opened = CudaDevice.open(index, limits);
        devices.put(index, opened);
        opened.later(() -> pinned.opened(opened));
        return opened;
    }

    @Override
    public void mapped(MappedSegment segment) {
        pinned.mapped(segment);
    }

    @Override
    public void unmapping(MappedSegment segment) {
        pinned.unmapping(segment);
    }

    /** Returns the open resources of all devices. */
    synchronized CudaFigures figures() {
        CudaFigures sum = CudaFigures.NONE.withPinned(pinned.count());
        for (CudaDevice device : devices.values()) {
            sum = sum.plus(device.figures());
        }
        return sum;
    }

    /** Completes the copies, and frees unused memory. Idempotent. */
    @Deactivate
    public void close() {
        List<CudaDevice> open;
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            open = List.copyOf(devices.values());
        }
        pinned.close();
        open.forEach(CudaDevice::close);
    }
}
