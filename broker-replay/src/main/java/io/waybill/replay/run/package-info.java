/**
 * Recorded requests on their way through handlers: read ahead, run one after the other, compared.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.replay.run.WorkerReplay} for the way of what one worker handled
 *   <li>{@link io.waybill.replay.run.RequestRunner} for how one request is run
 *   <li>{@link io.waybill.replay.run.ReplayOutbox} for what its handler sees
 * </ul>
 */
package io.waybill.replay.run;
