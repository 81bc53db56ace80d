/**
 * Interceptors of a worker or a replay: which are there, which of them a message concerns, and how many calls each has in flight.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.intercept.InterceptorRegistry} to add interceptors of both kinds
 *   <li>{@link io.waybill.intercept.InterceptorTable} for those of one message
 * </ul>
 */
package io.waybill.intercept;
