/**
 * State of handlers in a replay: the calls that changed it, and its unknown parts.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.replay.state.CallSchedule} for the calls that run, selected or not
 * <li>{@link io.waybill.replay.state.KeptState} for the state that a handler may keep
 * </ul>
 */
package io.waybill.replay.state;
