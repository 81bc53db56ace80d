/**
 * Pages over HTTP, on the loopback interface or a Unix socket.
 *
 * <p>Start at {@link io.waybill.http.WebPages}.
 */
@Version("0.1.0")
package io.waybill.http;

import org.osgi.annotation.versioning.Version;
