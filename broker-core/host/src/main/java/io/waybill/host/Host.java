package io.waybill.host;

import java.nio.file.Path;
import java.util.Objects;

/**
 * Services that the core gets from the machine on which it runs, handed from constructor to constructor.
 *
 * <p><b>Threads.</b> Immutable; each part is thread-safe. Starts of its threads may be
 * {@linkplain Threads#startWhenPossible repeated}.
 */
public record Host(Clock clock, SafeFiles files, Processes processes, Threads threads, NativeCalls calls) {

    public Host {
        Objects.requireNonNull(clock);
        Objects.requireNonNull(files);
        Objects.requireNonNull(processes);
        Objects.requireNonNull(threads);
        Objects.requireNonNull(calls);
        threads = Threads.Repeated.of(threads);
    }

    /**
     * Returns the memory in bytes that this process may use: the host's, or that of its control group if that is less;
     * 8 GiB when neither can be read.
     */
    public static long memoryBytes() {
        return HostProcesses.memoryBytes(Path.of("/"));
    }

    /**
     * Returns the real host.
     *
     * @throws IllegalStateException when this is no Linux with {@code /proc}, or libc can't be bound
     */
    public static Host real() {
        return of(NativeCalls.load());
    }

    static Host of(NativeCalls calls) {
        return new Host(new HostClock(calls), new SafeFiles(calls), new HostProcesses(calls), new HostThreads(), calls);
    }

    /** Returns a copy with another clock. */
    public Host withClock(Clock other) {
        return new Host(other, files, processes, threads, calls);
    }

    /** Returns a copy with another view of processes. */
    public Host withProcesses(Processes other) {
        return new Host(clock, files, other, threads, calls);
    }

    /** Returns a copy with other threads. */
    public Host withThreads(Threads other) {
        return new Host(clock, files, processes, other, calls);
    }
}
