/**
 * Serving: brings requests to their handlers and sends the responses.
 *
 * <p>An {@link io.waybill.worker.serve.PeerRequest} is one request and its one outcome; it is pooled with everything
 * that a request needs.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.worker.serve.PeerReceiver} for one poll
 * <li>{@link io.waybill.worker.serve.RequestDispatcher} for where a handler runs, and for parked requests
 * <li>{@link io.waybill.worker.serve.PeerRequest} for a request and its outcome, {@link io.waybill.exchange.Exchange}
 * for running the handler
 * <li>{@link io.waybill.worker.serve.ResponseWriter} for outgoing responses
 * </ul>
 */
package io.waybill.worker.serve;
