package io.waybill.host;

/**
 * The host's clocks at the price of {@link System#nanoTime()}: the boot and the wall clock are that time plus an offset, which
 * {@link #refresh()} measures again.
 *
 * <p>Without a refresh the boot clock misses a suspension and the wall clock misses being set; nothing else is lost.
 *
 * <p><b>Threads.</b> Any thread may read; one thread at a time refreshes.
 */
public final class HostClock implements Clock {
    private static final int REALTIME = 0;
    private static final int BOOTTIME = 7;
    /** The two clocks run at one rate: what differs by less is the error of measuring, and would make time go back. */
    private static final long BOOT_JITTER_NS = 1_000_000;

    private final NativeCalls calls;
    // written by the refreshing thread, read by all
    private volatile long bootOffsetNs;
    private volatile long wallOffsetNs;

    HostClock(NativeCalls calls) {
        this.calls = calls;
        bootOffsetNs = offsetOf(BOOTTIME);
        wallOffsetNs = offsetOf(REALTIME);
    }

    @Override
    public long monotonicNs() {
        return System.nanoTime();
    }

    @Override
    public long bootNs() {
        return System.nanoTime() + bootOffsetNs;
    }

    @Override
    public long wallNs() {
        return System.nanoTime() + wallOffsetNs;
    }

    @Override
    public long wallNsAt(long bootNs) {
        return bootNs - bootOffsetNs + wallOffsetNs;
    }

    @Override
    public synchronized void refresh() {
        long boot = offsetOf(BOOTTIME);
        if (boot - bootOffsetNs > BOOT_JITTER_NS) {
            bootOffsetNs = boot;
        }
        wallOffsetNs = offsetOf(REALTIME);
    }

    /** The clock minus nanoTime, from the tightest of a few readings. */
    private long offsetOf(int clock) {
        long best = Long.MAX_VALUE;
        long offset = 0;
        for (int i = 0; i < 3; i++) {
            long before = System.nanoTime();
            long reading = calls.clockNs(clock);
            long width = System.nanoTime() - before;
            if (width < best) {
                best = width;
                offset = reading - (before + width / 2);
            }
        }
        return offset;
    }
}
