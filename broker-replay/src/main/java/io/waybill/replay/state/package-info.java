/**
 * The state of handlers in a replay: which calls left it, and what can't be known of it.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.replay.state.CallSchedule} for the calls that run, selected or not
 * <li>{@link io.waybill.replay.state.KeptState} for what a handler may remember
 * </ul>
 */
package io.waybill.replay.state;
