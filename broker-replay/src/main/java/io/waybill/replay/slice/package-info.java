/**
 * A slice: a file with some of the calls of a home and their dependencies, which can be read on another host. Start at
 * {@link io.waybill.replay.slice.SliceRecording} and {@link io.waybill.replay.slice.SliceWriter};
 * {@link io.waybill.replay.slice.SliceLayout} has the byte layout.
 */
package io.waybill.replay.slice;
