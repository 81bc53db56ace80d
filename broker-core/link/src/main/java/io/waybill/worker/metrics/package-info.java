/** Counters of a worker, and the files in which it publishes them. */
package io.waybill.worker.metrics;
