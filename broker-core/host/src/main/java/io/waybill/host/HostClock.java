package io.waybill.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Clocks of the host at the price of {@link System#nanoTime()}: the boot and the wall clock are that time plus an
 * offset, which {@link #refresh()} measures again.
 *
 * <p>The clocks are the host's, also in a {@link TimeNamespace}: times are compared between processes.
 *
 * <p>Without a refresh the boot clock misses a suspension and the wall clock misses being set; nothing else is lost.
 *
 * <p><b>Threads.</b> Any thread may read; one thread at a time refreshes.
 */
public final class HostClock implements Clock {
    private static final int REALTIME = 0;
    private static final int BOOTTIME = 7;
    /**
     * Max error of a measurement. The two clocks run at one rate, so a smaller difference is such an error, and would
     * make time go back.
     */
    private static final long BOOT_JITTER_NS = 1_000_000;

    private static final int READINGS = 3;
    private static final int MAX_READINGS = 50;
    /** Max width of a good reading: the clocks of two processes differ by at most half of it. */
    private static final long WIDE_NS = 20_000;

    private final NativeCalls calls;
    private final TimeNamespace namespace = TimeNamespace.own();
    // written by the refreshing thread, read by all
    private volatile long bootOffsetNs;
    private volatile long wallOffsetNs;

    HostClock(NativeCalls calls) {
        this.calls = calls;
        bootOffsetNs = bootOffsetNow();
        wallOffsetNs = offsetOf(REALTIME);
    }

    @Override
    public long monotonicNs() {
        return System.nanoTime() - namespace.monotonicNs();
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
        long boot = bootOffsetNow();
        if (boot - bootOffsetNs > BOOT_JITTER_NS) {
            bootOffsetNs = boot;
        }
        wallOffsetNs = offsetOf(REALTIME);
    }

    private long bootOffsetNow() {
        return offsetOf(BOOTTIME) - namespace.bootNs();
    }

    /** Returns the clock minus nanoTime, from the tightest of a few readings; of more while all were interrupted. */
    private long offsetOf(int clock) {
        long best = Long.MAX_VALUE;
        long offset = 0;
        for (int i = 0; i < READINGS || best > WIDE_NS && i < MAX_READINGS; i++) {
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

    /**
     * Offsets of the clocks of this process's time namespace, ahead of the host's. Times in files that processes share
     * are the host's.
     *
     * @param monotonicNs offset of CLOCK_MONOTONIC
     * @param bootNs offset of CLOCK_BOOTTIME, and of the start times that {@code /proc} shows
     */
    record TimeNamespace(long monotonicNs, long bootNs) {

        private static final TimeNamespace OF_HOST = new TimeNamespace(0, 0);
        private static final long SECOND_NS = 1_000_000_000;

        /** Returns the namespace of this process; the host's where the kernel has none, or does not show it. */
        static TimeNamespace own() {
            try {
                return parse(Files.readAllLines(Path.of("/proc/self/timens_offsets")));
            } catch (IOException e) { // before Linux 5.6
                return OF_HOST;
            }
        }

        /**
         * Parses lines of a clock's name, seconds and nanoseconds each.
         *
         * @throws IllegalStateException when a line is malformed
         */
        static TimeNamespace parse(List<String> lines) {
            long monotonicNs = 0;
            long bootNs = 0;
            for (String line : lines) {
                String[] fields = line.trim().split("\\s+");
                try {
                    if (fields[0].equals("monotonic")) {
                        monotonicNs = offsetNs(fields);
                    } else if (fields[0].equals("boottime")) {
                        bootNs = offsetNs(fields);
                    }
                } catch (ArithmeticException | IndexOutOfBoundsException | NumberFormatException e) {
                    throw new IllegalStateException(
                            "expected a clock, seconds and nanoseconds in /proc/self/timens_offsets, found " + line, e);
                }
            }
            return new TimeNamespace(monotonicNs, bootNs);
        }

        private static long offsetNs(String[] fields) {
            return Math.addExact(Math.multiplyExact(Long.parseLong(fields[1]), SECOND_NS), Long.parseLong(fields[2]));
        }
    }
}
