/**
 * Runs recorded requests: reads ahead, runs one after the other, and compares.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.replay.run.WorkerReplay} for the calls of one worker
 * <li>{@link io.waybill.replay.run.RequestRunner} for one request
 * <li>{@link io.waybill.replay.run.RecordedRequest} for the two ports of its {@link io.waybill.exchange.Exchange}
 * <li>{@link io.waybill.replay.run.ReplayServices} for the services of its handler
 * </ul>
 */
package io.waybill.replay.run;
