/**
 * Runs recorded requests: reads ahead, runs one after the other, and compares.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.replay.run.WorkerReplay} for the calls of one worker
 * <li>{@link io.waybill.replay.run.RequestRunner} for one request
 * <li>{@link io.waybill.replay.run.ReplayOutbox} for its handler's outbox
 * </ul>
 */
package io.waybill.replay.run;
