package io.waybill.host;

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

    /** Memory in bytes, threads, and garbage collections with their time in ms, of this JVM, by name; empty where there are none. */
    default Map<String, Long> jvmFigures() {
        return Map.of();
    }
}
