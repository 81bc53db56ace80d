package io.waybill.api.broker;

import org.osgi.annotation.versioning.ProviderType;

/**
 * The replay that a bundle runs in, where recorded requests are handled again, one after the other, and nothing is called, served or written. A bundle
 * asks for it to leave out what belongs to a live worker, such as a port, and to say what it can't know.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
@ProviderType
public interface ReplayRun {

    /**
     * Notes that something is on no record that the request being handled needs: what the worker's program made, or what another process kept. If the
     * response differs from the one on record, or there is none, the request is reported as not replayable for this reason. The first one of a request
     * counts; while none is handled, this does nothing.
     *
     * @param what a noun phrase, such as {@code "the context 7, which the worker's program began"}
     */
    void lacks(String what);
}
