/**
 * A worker, its settings and its wiring. What a worker does is in rooms of this package, which know each other in one direction only:
 * {@code docs/hacking/layout.md} has the table, and a test holds it.
 *
 * <p>Two rights order its threads. The thread that holds the lock of a {@link io.waybill.worker.peer.QueueAppender} appends to one of the
 * worker's two queues; the thread that holds the {@link io.waybill.worker.poll.PollPermit} reads the peers' queues and completes calls.
 * Neither is held while a handler runs.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.worker.Worker#join} to take part in a home
 *   <li>{@link io.waybill.worker.call.Calls} for the way of a request out
 *   <li>{@link io.waybill.worker.serve.PeerReceiver} for what one poll does, and so the way of a request in
 *   <li>{@link io.waybill.worker.poll.Poller} for which thread polls when
 * </ul>
 */
package io.waybill.worker;
