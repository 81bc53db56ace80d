/**
 * Recovery: requests without a response and calls without an outcome that earlier incarnations of a worker left.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.worker.recover.Recovery} for requests that an earlier incarnation had read
 * <li>{@link io.waybill.worker.recover.EarlierCalls} for calls that an earlier incarnation had made
 * <li>{@link io.waybill.worker.recover.QueueWitnesses} for the evidence of queues whose files are lost
 * </ul>
 */
package io.waybill.worker.recover;
