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
}
