package io.waybill.tensor.segment;

import io.waybill.api.tensor.Storage;
import io.waybill.host.failure.ForeignErrors;
import java.nio.file.Path;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The bytes of one storage that a message names: in a segment, with a hold of their region, which is not used again before {@link #letGo}; or on a device, from
 * which {@link #copyToSegment} brings them.
 *
 * <p><b>Threads.</b> {@link #letGo} by any; the others by one. <b>Ownership.</b> Its receiver releases it, once.
 */
public final class LeasedBytes {

    private static final Logger LOG = LoggerFactory.getLogger(LeasedBytes.class);

    private final long size;
    private final boolean isShared;
    private final Function<Storage, Region> toSegment; // null when they are in one
    private final long offsetInRegion;
    // guarded by this
    private Region region; // null while they are on a device
    private Storage onDevice; // null when they are in a segment, or are being copied to one
    private boolean isReleased;

    /** Takes over a hold of the region. */
    public LeasedBytes(Region region, long offsetInRegion, long size, boolean isShared) {
        this.region = region;
        this.offsetInRegion = offsetInRegion;
        this.size = size;
        this.isShared = isShared;
        this.toSegment = null;
    }

    /**
     * Takes over a count of a storage on a device.
     *
     * @param size in bytes
     * @param toSegment copies a storage, and returns the region with one hold
     */
    public LeasedBytes(Storage onDevice, long size, Function<Storage, Region> toSegment) {
        this.onDevice = onDevice;
        this.toSegment = toSegment;
        this.size = size;
        this.isShared = true;
        this.offsetInRegion = 0;
    }

    /** Brings the bytes to a segment, unless they are in one, or were released. Throws what the copying does. */
    public void copyToSegment() {
        Storage source;
        synchronized (this) {
            source = onDevice;
            onDevice = null;
        }
        if (source == null) {
            return;
        }
        Region copy;
        try {
            copy = toSegment.apply(source);
        } finally {
            release(source);
        }
        boolean isTooLate;
        synchronized (this) {
            isTooLate = isReleased;
            region = copy;
        }
        if (isTooLate) {
            copy.letGo();
        }
    }

    /** The segment's file. */
    public Path segment() {
        return inSegment().segment().path();
    }

    /** Returns the offset of the first byte in the segment's file. */
    public long offset() {
        return inSegment().offset() + offsetInRegion;
    }

    /** Where they are, or were: after {@link #letGo} other bytes may be there. */
    private synchronized Region inSegment() {
        if (region == null) {
            throw new IllegalStateException("the bytes were released while they were on a device");
        }
        return region;
    }

    public long size() {
        return size;
    }

    /** Whether the sender has the storage itself, and has not given it back: it can write, though it must not. */
    public boolean isShared() {
        return isShared;
    }

    public void letGo() {
        Region held;
        Storage source;
        synchronized (this) {
            if (isReleased) {
                return;
            }
            isReleased = true;
            held = region;
            source = onDevice;
            onDevice = null;
        }
        if (held != null) {
            held.letGo();
        }
        if (source != null) {
            release(source);
        }
    }

    private static void release(Storage source) {
        try {
            source.release();
        } catch (Throwable e) { // the boundary around a storage
            ForeignErrors.warn(LOG, "A storage that was to be archived could not be given back", e);
        }
    }
}
