package io.waybill.journal;

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Disk space that the two queues of a worker may take together. For their writers, an exhausted quota is a full disk.
 *
 * <p><b>Threads.</b> Thread-safe. The space in use is counted from the last {@link #measured} on.
 */
public final class Quota implements DiskSpace {

    private final DiskSpace disk;
    private final long limitBytes;
    private volatile long scarceBytes = Long.MAX_VALUE; // set once, with the listener
    private volatile Runnable onScarce = () -> {};
    // For the threads that reserve.
    private final AtomicLong claimedBytes = new AtomicLong(); // granted, and not yet counted as reserved
    private final AtomicLong reservedBytes = new AtomicLong();
    // Set by the measuring thread: bytes in use apart from those ever reserved; below 0 if some of these were freed.
    private volatile long otherBytes;
    private volatile boolean enforced; // written by the measuring thread, read by those that reserve

    /**
     * Creates a quota.
     *
     * @param limitBytes limit in bytes; 0 for none
     */
    public Quota(DiskSpace disk, long limitBytes) {
        this.disk = disk;
        this.limitBytes = limitBytes;
    }

    /**
     * Sets the listener for low space: called by the requesting thread when more than this is in use after a request.
     *
     * @param bytes at most the limit
     */
    public void onScarce(long bytes, Runnable listener) {
        onScarce = listener;
        scarceBytes = bytes;
    }

    @Override
    public void reserve(Path file, long offset, long length) throws IOException {
        long claimed = claimedBytes.addAndGet(length); // both queues may reserve at the same time
        try {
            long used = usedBytes();
            if (enforced && limitBytes > 0 && used + claimed > limitBytes) {
                onScarce.run();
                throw new IOException("the quota retention.max-bytes of " + limitBytes + " bytes is reached: " + used
                        + " are in use");
            }
            disk.reserve(file, offset, length);
            reservedBytes.addAndGet(length); // after the disk: it is better to count twice in between than not at all
        } finally {
            claimedBytes.addAndGet(-length);
        }
        if (usedBytes() > scarceBytes) {
            onScarce.run();
        }
    }

    @Override
    public void remove(Path file) throws IOException {
        disk.remove(file);
    }

    @Override
    public void fill(Path file, long offset, long length) throws IOException {
        disk.fill(file, offset, length);
    }

    @Override
    public void giveBack(Path file, long offset, long length) {
        disk.giveBack(file, offset, length);
    }

    @Override
    public void giveBackZeros(Path file, long offset, long length) {
        disk.giveBackZeros(file, offset, length);
    }

    /** Returns the number of bytes that were ever reserved; read it before measuring. */
    public long reservedBytes() {
        return reservedBytes.get();
    }

    /**
     * Sets the measured bytes in use. From the first measurement on nothing is reserved beyond the limit.
     *
     * @param reservedBefore {@link #reservedBytes} before the measurement: later reservations may not be included
     */
    public void measured(long bytes, long reservedBefore) {
        otherBytes = bytes - reservedBefore;
        enforced = true;
    }

    /** Subtracts bytes that are no longer in use. Called by the measuring thread. */
    public void removed(long bytes) {
        otherBytes -= bytes;
    }

    public long limitBytes() {
        return limitBytes;
    }

    public long usedBytes() {
        return otherBytes + reservedBytes.get();
    }
}
