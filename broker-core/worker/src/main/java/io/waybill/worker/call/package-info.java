/**
 * Calling: sends requests and completes calls with their responses.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.worker.call.Calls} for outgoing requests
 * <li>{@link io.waybill.worker.call.PendingCalls} for the table of calls in flight
 * <li>{@link io.waybill.worker.call.ResponseReceiver} for responses, timeouts and peers that end
 * <li>{@link io.waybill.worker.call.OutcomeDelivery} for the boundary around listeners
 * </ul>
 */
package io.waybill.worker.call;
