package io.waybill.api.journal;

import java.io.IOException;
import org.osgi.annotation.versioning.ProviderType;

/**
 * The journals of all workers of a home, live or not: every recorded request and response, as far back as retention
 * keeps them.
 *
 * <p>In a node it is an OSGi service, which a component obtains with {@code @Reference Journals}. A program obtains it
 * with {@code JournalAccess.of(path)} of the artifact {@code broker-inspect}; no worker need be live.
 *
 * <p>Reading does not affect workers: nothing is written, locked or mapped. It reads files, so it is not for the path of
 * a call. A replay has no journals to read, and {@link #open} fails there.
 *
 * <p><b>Threads.</b> Any.
 */
@ProviderType
public interface Journals {

    /** Max number of open readers of one bundle. */
    int MAX_OPEN = 16;

    /**
     * Opens a reader, which the caller closes. Readers that a bundle has open when it stops are closed.
     *
     * @throws IOException if the home can't be read
     * @throws IllegalStateException if the bundle has {@value #MAX_OPEN} readers open, or has stopped
     */
    JournalReader open() throws IOException;
}
