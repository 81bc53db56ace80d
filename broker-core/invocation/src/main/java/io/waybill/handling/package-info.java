/**
 * Messages and responses of a handler, in a worker or a replay.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.handling.Route} for the handler of a request
 * <li>{@link io.waybill.handling.InboundMessage} for a request as its handler sees it
 * <li>{@link io.waybill.handling.OutgoingResponse} for its response
 * <li>{@link io.waybill.handling.Failure} for error responses
 * <li>{@link io.waybill.handling.CallHooks} and {@link io.waybill.handling.HandlerInterception} for the calls of
 * interceptors
 * </ul>
 */
package io.waybill.handling;
