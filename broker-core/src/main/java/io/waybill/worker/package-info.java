/**
 * A worker: it reads what its peers wrote, brings requests to their handlers, settles its own calls, and holds back what would be too
 * much. Everything else in the broker is a part of it or is put around it.
 *
 * <p>Two rights order its threads. Who holds a {@link io.waybill.worker.Lane}'s lock appends to one of the worker's two queues; who holds
 * the {@link io.waybill.worker.PollPermit} reads the peers' queues and settles calls. Neither is held while a handler runs.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.worker.Worker#join} to take part in a home
 *   <li>{@link io.waybill.worker.Inlet} for what one poll does
 *   <li>{@link io.waybill.worker.Calls} for the way of a request out, {@link io.waybill.worker.Serving} for the way in
 * </ul>
 */
package io.waybill.worker;
