package io.waybill.cuda.converter;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.device.MappedSegment;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import jcuda.driver.JCudaDriver;

/**
 * The segments of tensor memory, pinned for all devices, so that devices access them directly. No segment is pinned
 * before a device is used.
 *
 * <p>Segments of peers are pinned for reading only, in the mapping of the file's own pages. In the copy-on-write
 * mapping, Linux from 6.2 on would copy the pinned pages, and the copies would lack the peer's later tensors.
 *
 * <p><b>Threads.</b> Thread-safe. A segment is unpinned while no copy of this converter runs.
 */
final class PinnedSegments {

    private static final Logger LOG = System.getLogger(PinnedSegments.class.getName());
    private static final int OWN = JCudaDriver.CU_MEMHOSTREGISTER_PORTABLE;
    private static final int OF_PEERS = OWN | JCudaDriver.CU_MEMHOSTREGISTER_READ_ONLY;

    private final ReentrantReadWriteLock copies = new ReentrantReadWriteLock();
    // guarded by this
    private final Set<MappedSegment> known = new HashSet<>();
    private final Set<MappedSegment> pinned = new HashSet<>();
    private final List<CudaDevice> devices = new ArrayList<>(); // open devices; the first one pins segments
    // kinds of warnings that were logged
    private final Set<MappedSegment.Use> warnings = EnumSet.noneOf(MappedSegment.Use.class);

    /** A copy to the host, or the start of one to a device, whose thread completes it. */
    interface Copy<T> {
        T run() throws RejectedMessageException;
    }

    synchronized void mapped(MappedSegment segment) {
        if (known.add(segment) && !devices.isEmpty()) {
            pin(segment);
        }
    }

    void unmapping(MappedSegment segment) {
        CudaDevice by;
        synchronized (this) {
            known.remove(segment);
            if (!pinned.remove(segment)) {
                return;
            }
            by = devices.get(0);
        }
        unpin(segment, by);
    }

    /** Pins the known segments with the first opened device. */
    synchronized void opened(CudaDevice opened) {
        devices.add(opened);
        if (devices.size() == 1) {
            known.forEach(this::pin);
        }
    }

    private void pin(MappedSegment segment) {
        CudaDevice device = devices.get(0);
        boolean isOwn = segment.use() == MappedSegment.Use.SENDS;
        if (!isOwn && !device.pinsForReading()) {
            failed(segment, device + " can't use memory that is pinned for reading only");
            return;
        }
        try {
            device.within(() -> {
                CudaCalls.check(
                        device,
                        "cuMemHostRegister of " + segment.sizeBytes() + " bytes",
                        () -> JCudaDriver.cuMemHostRegister(
                                new HostPointer(segment.readAddress()), segment.sizeBytes(), isOwn ? OWN : OF_PEERS));
                return null;
            });
            pinned.add(segment);
        } catch (RejectedMessageException e) {
            failed(
                    segment,
                    e.getMessage() + "; the home has to be on a tmpfs, and the limit of locked memory large enough");
        }
    }

    private void failed(MappedSegment segment, String reason) {
        LOG.log(
                warnings.add(segment.use()) ? Level.WARNING : Level.DEBUG,
                "Tensors are copied " + (segment.use() == MappedSegment.Use.SENDS ? "from" : "to")
                        + " devices without pinned memory, which takes longer: " + reason);
    }

    /** Waits for the copies that may use the segment, and unpins it. */
    private void unpin(MappedSegment segment, CudaDevice device) {
        copies.writeLock().lock();
        try {
            open().forEach(CudaDevice::drain);
            device.within(() -> {
                CudaCalls.check(
                        device,
                        "cuMemHostUnregister",
                        () -> JCudaDriver.cuMemHostUnregister(new HostPointer(segment.readAddress())));
                return null;
            });
        } catch (RejectedMessageException e) {
            LOG.log(Level.DEBUG, "A segment could not be unpinned: {0}", e.getMessage()); // the device has failed
        } finally {
            copies.writeLock().unlock();
        }
    }

    private synchronized List<CudaDevice> open() {
        return List.copyOf(devices);
    }

    /** Starts a copy from or to memory that may be pinned, and keeps it pinned until the copy has completed. */
    <T> T copy(Copy<T> copy) throws RejectedMessageException {
        copies.readLock().lock();
        try {
            return copy.run();
        } finally {
            copies.readLock().unlock();
        }
    }

    /** Returns the number of pinned segments. */
    synchronized int count() {
        return pinned.size();
    }

    /** Unpins all segments. */
    void close() {
        Set<MappedSegment> left;
        synchronized (this) {
            left = Set.copyOf(pinned);
        }
        left.forEach(this::unmapping);
    }
}
