/**
 * Background loops. Each is an Agrona {@link org.agrona.concurrent.Agent} with an
 * {@link io.waybill.host.agent.AgentThread}, and sets in its duty cycle how long it may idle.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.host.agent.AgentThread} to run an agent
 * <li>{@link io.waybill.host.agent.WakeableIdleStrategy} for how agents wait
 * </ul>
 */
package io.waybill.host.agent;
