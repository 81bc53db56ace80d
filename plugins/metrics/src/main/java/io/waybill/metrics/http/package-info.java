/**
 * Small HTTP server on the loopback interface or a Unix socket.
 *
 * <p>Start at {@link io.waybill.metrics.http.HttpEndpoint}.
 */
package io.waybill.metrics.http;
