/**
 * What a handler is given and what it gives, in a worker or a replay.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.handling.Route} for which handler takes a request
 *   <li>{@link io.waybill.handling.InboundMessage} for a request as its handler sees it
 *   <li>{@link io.waybill.handling.OutgoingResponse} for what it answers
 *   <li>{@link io.waybill.handling.Failure} for the errors that stand for a response
 * </ul>
 */
package io.waybill.handling;
