package io.waybill.tensor.segment;

import io.waybill.api.tensor.Storage;
import io.waybill.host.failure.ForeignErrors;
import java.nio.file.Path;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Bytes of one storage that a message names: in a segment, with a hold of their region, which is not used again before
 * {@link #letGo}; or on a device, from which {@link #copyToSegment} copies them.
 *
 * <p><b>Threads.</b> {@link #letGo} by any thread; the others by one. <b>Ownership.</b> The receiver of this object
 * releases it, once.
 */
public final class LeasedBytes {

    private static final Logger LOG = LoggerFactory.getLogger(LeasedBytes.class);

    private final long size;
    private final boolean isShared;
    private final Function<Storage, Region> toSegment; // null when the bytes are in a segment
    private final long offsetInRegion;
    // guarded by this
    private Region region; // null while the bytes are on a device
    private Storage onDevice; // null when the bytes are in a segment, or are being copied to one
    private boolean isReleased;

    /** Creates bytes in a segment; acquires the caller's hold of the region. */
    public LeasedBytes(Region region, long offsetInRegion, long size, boolean isShared) {
        this.region = region;
        this.offsetInRegion = offsetInRegion;
        this.size = size;
        this.isShared = isShared;
        this.toSegment = null;
    }

    /**
     * Creates bytes on a device; acquires the caller's count of the storage.
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

    /** Copies the bytes to a segment, unless they are in one, or were released. Throws the exceptions of the copy. */
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

    /** Returns the segment's file. */
    public Path segment() {
        return inSegment().segment().path();
    }

    /** Returns the offset of the first byte in the segment's file. */
    public long offset() {
        return inSegment().offset() + offsetInRegion;
    }

    /** Returns the region of the bytes, present or former: after {@link #letGo} it may have other bytes. */
    private synchronized Region inSegment() {
        if (region == null) {
            throw new IllegalStateException("the bytes were released while they were on a device");
        }
        return region;
    }

    public long size() {
        return size;
    }

    /** Returns whether the sender has the storage itself, and has not released it: it can write, though it must not. */
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
