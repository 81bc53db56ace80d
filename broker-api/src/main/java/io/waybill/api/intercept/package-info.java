/**
 * Interceptors: service interfaces for bundles that observe, change or refuse the calls of a worker and the work of its
 * handlers.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.api.intercept.CallInterceptor} around each outgoing call
 *   <li>{@link io.waybill.api.intercept.HandlerInterceptor} around each call of a handler
 *   <li>{@link io.waybill.api.intercept.InterceptsMessage} to select the messages, and
 *   {@link io.waybill.api.intercept.WhenAway} for their treatment during an update
 * </ul>
 */
@Version("1.0.0")
package io.waybill.api.intercept;

import org.osgi.annotation.versioning.Version;
