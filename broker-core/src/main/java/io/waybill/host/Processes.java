package io.waybill.host;

import java.util.List;
import java.util.Map;

/**
 * The processes of this host.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
public interface Processes {

    /** Returns the identity of this process. */
    ProcessIdentity self();

    /** Returns the liveness of a process; costs about one small read. */
    Liveness liveness(ProcessIdentity process);

    /** Opens a watch, for callers that check one process often. */
    default ProcessWatch watch(ProcessIdentity process) {
        return new ProcessWatch() {
            @Override
            public Liveness liveness() {
                return Processes.this.liveness(process);
            }

            @Override
            public void close() {
                // holds nothing
            }
        };
    }

    /** Returns how long this JVM has collected garbage since it began, in ms; 0 where that is not known. */
    default long collectedMs() {
        return 0;
    }

    /** Memory in bytes, threads, and garbage collections with their time in ms, of this JVM, by name; empty where there are none. */
    default Map<String, Long> jvmFigures() {
        return Map.of();
    }

    /**
     * Returns the options of JVMs that share the processors with many of their kind: with more than two for each processor, the first compiler only. Those of cold
     * processes would otherwise take most of the processors. None when there are enough.
     *
     * @param count of these processes
     */
    static List<String> crowdOptions(int count, int processors) {
        return count > 2 * processors ? List.of("-XX:TieredStopAtLevel=1") : List.of();
    }
}
