package io.waybill.metrics.http;

import java.io.IOException;

/** Source of an endpoint's pages. Called by its thread. */
@FunctionalInterface
public interface PageSource {

    /**
     * Creates a page; null if there is none with this path.
     *
     * @param path without a query
     * @param accept the client's {@code Accept}; empty for none
     */
    Page page(String path, String accept) throws IOException;
}
