package io.waybill.bench.measure;

import java.time.Duration;

/**
 * Processor time of two processes, from its creation on: of this one, and of another one. The host counts it in steps of about 10 ms.
 */
public final class ProcessorTime {

    private final ProcessHandle other;
    private final long ownBeforeNs;
    private final long otherBeforeNs;

    public ProcessorTime(long otherPid) {
        this.other = ProcessHandle.of(otherPid)
                .orElseThrow(() -> new IllegalStateException("no process has the id " + otherPid));
        this.ownBeforeNs = ofNs(ProcessHandle.current());
        this.otherBeforeNs = ofNs(other);
    }

    private static long ofNs(ProcessHandle process) {
        return process.info()
                .totalCpuDuration()
                .map(Duration::toNanos)
                .orElseThrow(() ->
                        new IllegalStateException("the host tells no processor time of the process " + process.pid()));
    }

    /** The time of this process so far, all its threads together. */
    public static long ownNs() {
        return ofNs(ProcessHandle.current());
    }

    /** Puts the time per call of this process, which calls, and of the other one, which serves. */
    public Figures put(Figures figures, long calls) {
        return figures.put("cpu_ns_per_call", (ofNs(ProcessHandle.current()) - ownBeforeNs) / calls)
                .put("served_cpu_ns_per_call", (ofNs(other) - otherBeforeNs) / calls);
    }
}
