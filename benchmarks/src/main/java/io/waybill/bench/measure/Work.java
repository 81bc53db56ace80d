package io.waybill.bench.measure;

import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Work of the called side before it responds: it keeps a processor busy, and then it sleeps. It reports how long that
 * took in the bytes of its response, so that neither a late end of a sleep nor the work itself counts as time of the
 * call. Stateless.
 *
 * @param workMicros for which it keeps a processor busy; 0 for not at all
 * @param sleepMicros for which it sleeps after that; 0 for not at all
 */
public record Work(int workMicros, int sleepMicros) {

    /** No work: the response is what was sent. */
    public static final Work NONE = new Work(0, 0);

    /** Min size of a message with work, in bytes: it contains the time that the work took. */
    public static final int MIN_BYTES = Long.BYTES;

    public boolean isNone() {
        return workMicros == 0 && sleepMicros == 0;
    }

    /** Does the work, and writes its duration to the start of the response. Without work it writes nothing. */
    public void perform(byte[] message) {
        if (isNone()) {
            return;
        }
        long sinceNs = System.nanoTime();
        long busyUntilNs = sinceNs + TimeUnit.MICROSECONDS.toNanos(workMicros);
        while (System.nanoTime() - busyUntilNs < 0) {
            Thread.onSpinWait();
        }
        long untilNs = busyUntilNs + TimeUnit.MICROSECONDS.toNanos(sleepMicros);
        for (long leftNs = untilNs - System.nanoTime(); sleepMicros > 0 && leftNs > 0; ) {
            LockSupport.parkNanos(leftNs);
            leftNs = untilNs - System.nanoTime();
        }
        ByteBuffer.wrap(message).putLong(0, System.nanoTime() - sinceNs);
    }

    /** Returns how long the work of a response took, in ns; 0 without work. */
    public long takenNs(byte[] response) {
        return isNone() ? 0 : ByteBuffer.wrap(response).getLong(0);
    }
}
