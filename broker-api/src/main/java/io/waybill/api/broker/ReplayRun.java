package io.waybill.api.broker;

import org.osgi.annotation.versioning.ProviderType;

/**
 * The replay that a bundle runs in: recorded requests are handled again, one after the other, without calls, service or
 * writes. A bundle queries it to skip the parts that need a live worker, such as a port, and to report missing
 * information.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
@ProviderType
public interface ReplayRun {

    /**
     * Reports that the current request needs information that is not on record: state that the worker's program
     * created, or that another process held. If the response differs from the recorded one, or there is none, the
     * request is reported as not replayable for this reason. Only the first report of a request counts; without a
     * current request this has no effect.
     *
     * @param what a noun phrase, such as {@code "the context 7, which the worker's program began"}
     */
    void lacks(String what);
}
