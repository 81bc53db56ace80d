/**
 * Recordings in progress: the events of one profile, or of one profiled call at its callee. Start with
 * {@link io.waybill.profiler.record.Recording}.
 */
package io.waybill.profiler.record;
