/**
 * Recorded calls: requests joined with their responses, in the order in which a worker began them, with their nested
 * calls and the bytes of their tensors.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.replay.recording.CallRecording} for the content of a recording
 * <li>{@link io.waybill.replay.recording.HandledCalls} for the join of a home's journals
 * </ul>
 */
package io.waybill.replay.recording;
