/**
 * The worker as a service for bundles and programs, outside of handlers.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.api.broker.Broker} for calls, peers, timers, ids, counters and gauges
 *   <li>{@link io.waybill.api.broker.PeerListener} for notifications of workers that join and leave
 *   <li>{@link io.waybill.api.broker.ReplayRun} for bundles that behave differently in a replay
 *   <li>{@link io.waybill.api.broker.JoinedWorker} to join on behalf of another process
 * </ul>
 */
@Version("1.0.0")
package io.waybill.api.broker;

import org.osgi.annotation.versioning.Version;
