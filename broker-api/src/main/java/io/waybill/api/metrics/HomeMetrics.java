package io.waybill.api.metrics;

import java.io.IOException;
import java.util.List;
import org.osgi.annotation.versioning.ProviderType;

/**
 * The figures that the workers of a home publish. Each worker writes its own about once a second, into a file in its directory, while they change.
 *
 * <p>In a node it is an OSGi service, which a component gets by {@code @Reference HomeMetrics}. A program gets it from its worker.
 *
 * <p><b>Threads.</b> Thread-safe. It reads files, so it is not for the path of a call.
 */
@ProviderType
public interface HomeMetrics {

    /**
     * Reads what each live worker published last, this one included, ordered by worker id. A worker that has published nothing yet, or whose file
     * can't be read, is left out; the latter is logged once for each cause.
     *
     * @throws IOException when the home can't be read
     */
    List<WorkerMetrics> read() throws IOException;
}
