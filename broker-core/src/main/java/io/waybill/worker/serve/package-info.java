/**
 * Serving: brings requests to their handlers and sends the responses.
 *
 * <p>An {@link io.waybill.worker.serve.Exchange} is one request and its one outcome; it is pooled with everything that a request needs.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.worker.serve.PeerReceiver} for what one poll does
 *   <li>{@link io.waybill.worker.serve.RequestDispatcher} for which handler runs where, or what waits
 *   <li>{@link io.waybill.worker.serve.Exchange} for the outcome, {@link io.waybill.worker.serve.HandlerTask} for the handler's run
 *   <li>{@link io.waybill.worker.serve.ResponseWriter} for the way of a response out
 * </ul>
 */
package io.waybill.worker.serve;
