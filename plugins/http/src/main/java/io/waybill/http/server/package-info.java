/**
 * Server of the pages that bundles register: Jetty, one per address.
 *
 * <p>Start at {@link io.waybill.http.server.PageServers}.
 */
package io.waybill.http.server;
