/**
 * Interceptors: service interfaces for bundles that watch, change or refuse the calls of a worker and the work of its handlers.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.api.intercept.CallInterceptor} around each outgoing call
 *   <li>{@link io.waybill.api.intercept.HandlerInterceptor} around each call of a handler
 *   <li>{@link io.waybill.api.intercept.InterceptsMessage} to say for which messages, and {@link io.waybill.api.intercept.WhenAway} what happens to these
 *       during an update
 * </ul>
 */
@Version("1.6.0")
package io.waybill.api.intercept;

import org.osgi.annotation.versioning.Version;
