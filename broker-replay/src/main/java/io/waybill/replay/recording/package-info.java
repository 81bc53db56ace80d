/**
 * Recorded calls: requests joined with their responses, in the order in which a worker began them, with their nested
 * calls and the bytes of their tensors.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.replay.recording.CallRecording} for the content of a recording
 * <li>{@link io.waybill.replay.recording.HandledCalls} for how the journals of a home are joined
 * </ul>
 */
package io.waybill.replay.recording;
