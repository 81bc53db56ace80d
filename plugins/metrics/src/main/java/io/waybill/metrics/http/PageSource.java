package io.waybill.metrics.http;

import java.io.IOException;

/** The pages of an endpoint. Called by its thread. */
@FunctionalInterface
public interface PageSource {

    /**
     * Makes a page; null when there is none with this path.
     *
     * @param path without a query
     * @param accept the client's {@code Accept}; empty for none
     */
    Page page(String path, String accept) throws IOException;
}
