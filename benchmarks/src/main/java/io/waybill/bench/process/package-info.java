/**
 * The processes of a measurement: {@link io.waybill.bench.process.Children} starts them,
 * {@link io.waybill.bench.process.ChildProcess} is their side.
 */
package io.waybill.bench.process;
