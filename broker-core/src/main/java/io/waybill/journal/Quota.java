package io.waybill.journal;

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The disk space that the two queues of a worker may take together. To their writers it is a disk that is full when the quota is used up.
 *
 * <p><b>Threads.</b> Thread-safe. What is in use is counted on from the last {@link #measured}.
 */
public final class Quota implements DiskSpace {

    private final DiskSpace disk;
    private final long limitBytes;
    private volatile long scarceBytes = Long.MAX_VALUE; // set once, with the listener
    private volatile Runnable onScarce = () -> {};
    // Of the threads that reserve.
    private final AtomicLong claimedBytes = new AtomicLong(); // asked for, and not yet counted as reserved
    private final AtomicLong reservedBytes = new AtomicLong();
    // By who measures and removes: what is in use without all that was ever reserved; below 0 when some of that was
    // given back.
    private volatile long otherBytes;
    private volatile boolean enforced; // by who measures, for those who reserve

    /** @param limitBytes 0 for none */
    public Quota(DiskSpace disk, long limitBytes) {
        this.disk = disk;
        this.limitBytes = limitBytes;
    }

    /**
     * Tells when space was asked for and more than this is in use then, by the thread that asked for it.
     *
     * @param bytes at most the limit
     */
    public void onScarce(long bytes, Runnable listener) {
        onScarce = listener;
        scarceBytes = bytes;
    }

    @Override
    public void reserve(Path file, long offset, long length) throws IOException {
        long claimed = claimedBytes.addAndGet(length); // both queues may ask at once
        try {
            long used = usedBytes();
            if (enforced && limitBytes > 0 && used + claimed > limitBytes) {
                onScarce.run();
                throw new IOException("the quota retention.max-bytes of " + limitBytes + " bytes is reached: " + used
                        + " are in use");
            }
            disk.reserve(file, offset, length);
            reservedBytes.addAndGet(length); // after the disk: better counted twice in between than not at all
        } finally {
            claimedBytes.addAndGet(-length);
        }
        if (usedBytes() > scarceBytes) {
            onScarce.run();
        }
    }

    @Override
    public void fill(Path file, long offset, long length) throws IOException {
        disk.fill(file, offset, length);
    }

    @Override
    public void giveBack(Path file, long offset, long length) {
        disk.giveBack(file, offset, length);
    }

    /** How much was ever reserved: to be asked before one looks. */
    public long reservedBytes() {
        return reservedBytes.get();
    }

    /**
     * So much was in use, as was found by looking. From the first time on nothing is reserved beyond the limit.
     *
     * @param reservedBefore what {@link #reservedBytes} said before the look: what came since may not have been seen
     */
    public void measured(long bytes, long reservedBefore) {
        otherBytes = bytes - reservedBefore;
        enforced = true;
    }

    /** So much is not in use any more. By the thread that measures. */
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
