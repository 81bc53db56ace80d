/**
 * Interceptors of a worker or a replay: their registry, the chain for each message, and the count of calls in flight of
 * each.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.intercept.InterceptorRegistry} to add interceptors of both kinds
 *   <li>{@link io.waybill.intercept.InterceptorTable} for the interceptors of one message
 * </ul>
 */
package io.waybill.intercept;
