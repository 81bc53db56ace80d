/**
 * Implementation of {@link io.waybill.api.broker.Broker} for bundles and programs: calls, peers, timers, ids and
 * counters that end with their owner.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.broker.Brokers} to open a broker for an owner
 *   <li>{@link io.waybill.broker.OwnedBroker} for the objects of an owner, and their revocation
 * </ul>
 */
package io.waybill.broker;
