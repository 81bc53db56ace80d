package io.waybill.host;

/**
 * Who runs on this host.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
public interface Processes {

    /** This process. */
    ProcessIdentity self();

    /** Whether that process lives; costs about one small read. */
    Liveness liveness(ProcessIdentity process);

    /** For callers that ask about one process often. */
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
}
