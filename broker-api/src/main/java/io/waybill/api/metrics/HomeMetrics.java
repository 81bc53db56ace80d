package io.waybill.api.metrics;

import java.io.IOException;
import java.util.List;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Reader of the figures that the workers of a home publish. While its figures change, each worker writes them about
 * once a second to a file in its directory.
 *
 * <p>In a node it is an OSGi service, which a component obtains with {@code @Reference HomeMetrics}. A program obtains
 * it from its worker.
 *
 * <p><b>Threads.</b> Thread-safe. It reads files, so it is not for the path of a call.
 */
@ProviderType
public interface HomeMetrics {

    /**
     * Reads the latest published figures of each live worker, including this one, ordered by worker id. A worker that
     * has published nothing yet, or whose file can't be read, is omitted; the latter is logged once for each cause.
     *
     * @throws IOException if the home can't be read
     */
    List<WorkerMetrics> read() throws IOException;
}
