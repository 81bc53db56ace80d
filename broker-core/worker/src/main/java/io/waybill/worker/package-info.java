/**
 * A worker, its settings and its wiring. Its functions are in the subpackages, which depend on each other in one
 * direction only: see the table in {@code docs/hacking/layout.md}, which a test enforces.
 *
 * <p>Two rights order its threads. The thread that holds the lock of a {@link io.waybill.worker.publish.QueueAppender}
 * appends to one of the worker's two queues; the thread that holds the {@link io.waybill.worker.poll.PollPermit} reads
 * the peers' queues and completes calls. Neither is held while a handler runs.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.worker.Waybill} for the entry point of programs, {@link io.waybill.worker.Worker#join} to join
 * a home
 * <li>{@link io.waybill.worker.call.Calls} for outgoing requests
 * <li>{@link io.waybill.worker.serve.PeerReceiver} for one poll, and so for incoming requests
 * <li>{@link io.waybill.worker.poll.Poller} for the thread that polls
 * </ul>
 */
package io.waybill.worker;
