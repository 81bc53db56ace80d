package io.waybill.cuda.converter;

import io.waybill.api.RejectedMessageException;
import java.util.concurrent.locks.LockSupport;
import jcuda.driver.CUevent;

/**
 * Waits for copies of one device that a caller waits for. A wait that blocks in the driver ends 0.1 ms late, a third of a copy of 16 MiB: so the end is polled
 * for, around the time that the device's fastest copy would have taken. Until then the thread sleeps, and after it, it blocks.
 *
 * <p><b>Threads.</b> Thread-safe. A wait keeps a core busy for at most {@link #POLL_NS}.
 */
final class CopyWait {

    /** Max time for which is polled: half of it before the expected end. */
    static final long POLL_NS = 1_000_000;

    private static final long MIN_BYTES = 1 << 20; // of a copy whose rate is noted

    private final CudaEvents events;
    private volatile double nsPerByte; // of the fastest copy; 0 before the first one

    CopyWait(CudaEvents events) {
        this.events = events;
    }

    /**
     * Waits for a copy.
     *
     * @param copied passes behind it
     * @param begunNs when it was begun, by {@link System#nanoTime}
     */
    void await(CUevent copied, long sizeBytes, long begunNs) throws RejectedMessageException {
        long expectedNs = (long) (sizeBytes * nsPerByte);
        LockSupport.parkNanos(
                begunNs + expectedNs - POLL_NS / 2 - System.nanoTime()); // returns at once if that has passed
        long sinceNs = System.nanoTime();
        boolean isComplete = events.isComplete(copied);
        while (!isComplete && System.nanoTime() - sinceNs < POLL_NS) {
            Thread.onSpinWait();
            isComplete = events.isComplete(copied);
        }
        if (!isComplete) {
            events.synchronize(copied);
        }
        note(sizeBytes, System.nanoTime() - begunNs);
    }

    private void note(long sizeBytes, long tookNs) {
        double found = (double) tookNs / sizeBytes;
        if (sizeBytes >= MIN_BYTES && (nsPerByte == 0 || found < nsPerByte)) {
            nsPerByte = found; // a faster one that another thread notes now may be lost: the next one is noted again
        }
    }
}
