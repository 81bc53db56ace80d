package io.waybill.cuda.converter;

import io.waybill.api.RejectedMessageException;
import java.util.concurrent.locks.LockSupport;
import jcuda.driver.CUevent;

/**
 * Waits for copies of one device. A wait that blocks in the driver returns 0.1 ms late, a third of a copy of 16 MiB.
 * The thread therefore sleeps first, polls around the duration of the device's fastest copy, and then blocks.
 *
 * <p><b>Threads.</b> Thread-safe. A wait keeps a core busy for at most {@link #POLL_NS}.
 */
final class CopyWait {

    /** Max time of polling: half of it before the expected end. */
    static final long POLL_NS = 1_000_000;

    private static final long MIN_BYTES = 1 << 20; // min size of a copy whose rate is recorded

    private final CudaEvents events;
    private volatile double nsPerByte; // rate of the fastest copy; 0 before the first one

    CopyWait(CudaEvents events) {
        this.events = events;
    }

    /**
     * Waits for a copy.
     *
     * @param copied event that passes after the copy
     * @param begunNs start of the copy, by {@link System#nanoTime}
     */
    void await(CUevent copied, long sizeBytes, long begunNs) throws RejectedMessageException {
        long expectedNs = (long) (sizeBytes * nsPerByte);
        LockSupport.parkNanos(
                begunNs + expectedNs - POLL_NS / 2 - System.nanoTime()); // returns immediately if that time has passed
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
            nsPerByte = found; // a concurrent update may be lost: a later copy repeats it
        }
    }
}
