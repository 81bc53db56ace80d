/**
 * The process of a worker that cases run on: {@link io.waybill.conformance.worker.WorkerMain} reads steps from its
 * standard input and writes the result of each to its standard output.
 */
package io.waybill.conformance.worker;
