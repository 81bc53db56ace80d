/**
 * The {@link io.waybill.api.broker.Broker} of bundles and programs: calls, peers, timers, ids and counters that end with their owner.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.broker.Brokers} to open one for an owner
 *   <li>{@link io.waybill.broker.OwnedBroker} for what an owner has, and how it is revoked
 * </ul>
 */
package io.waybill.broker;
