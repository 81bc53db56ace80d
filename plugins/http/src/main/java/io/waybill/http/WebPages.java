package io.waybill.http;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * Pages that a bundle serves over HTTP: a service with the properties {@link #LISTEN} and {@link #PATHS}, registered as
 * long as the pages exist. Services with the same address share a server, which exists while it has pages. Of two
 * services with a path, the one with the higher ranking has it.
 *
 * <p><b>Threads.</b> The server's, at most {@value #MAX_CALLS} at a time; further requests wait. A call may block, but its
 * connection is closed 10 s after it was opened. The thread's context class loader is that of the pages' class.
 *
 * <p><b>Lifetime.</b> An unregistration waits up to 10 s for the calls in flight; then there are no further calls.
 */
@ConsumerType
@FunctionalInterface
public interface WebPages {

    /** Property, required: the address, in a form that {@link ListenAddress#parse} accepts. */
    String LISTEN = "waybill.http.listen";

    /**
     * Property, required: one or several paths, such as {@code /metrics}. Each includes what is below it, unless another
     * service has a longer path.
     */
    String PATHS = "waybill.http.paths";

    /** Property: one or several methods; {@code GET}, which includes {@code HEAD}, by default. */
    String METHODS = "waybill.http.methods";

    /** Max number of concurrent calls of one service. */
    int MAX_CALLS = 4;

    /**
     * Creates a page; null if there is none with this path.
     *
     * @throws Exception for the log; the client gets 500
     */
    Page respond(PageRequest request) throws Exception;
}
