/**
 * The worker as a service: what a bundle or a program uses of it outside of a handler.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.api.broker.Broker} for calls, peers, timers, ids and counters
 *   <li>{@link io.waybill.api.broker.PeerListener} to follow the workers of the home
 *   <li>{@link io.waybill.api.broker.ReplayRun} for bundles that do something else in a replay
 *   <li>{@link io.waybill.api.broker.JoinedWorker} to take part in the name of another process
 * </ul>
 */
@Version("1.4.0")
package io.waybill.api.broker;

import org.osgi.annotation.versioning.Version;
