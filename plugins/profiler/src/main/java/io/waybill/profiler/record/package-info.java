/** Recordings: the events of one profile, or of one profiled call at its callee, while they happen. Start with {@link io.waybill.profiler.record.Recording}. */
package io.waybill.profiler.record;
