/**
 * A slice: a file with some of the calls of a home and what they depend on, that can be read elsewhere. Start at {@link
 * io.waybill.replay.slice.SliceRecording} and {@link io.waybill.replay.slice.SliceWriter}; {@link io.waybill.replay.slice.SliceLayout} has
 * the bytes.
 */
package io.waybill.replay.slice;
