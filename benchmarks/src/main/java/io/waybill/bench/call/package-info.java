/**
 * Calls as programs write them, and beside them the same work by raw Chronicle queues and by sockets.
 * {@link io.waybill.bench.call.RoundTrip} is the place to start, {@link io.waybill.bench.call.MeasuredSystem} has the
 * compared systems.
 */
package io.waybill.bench.call;
