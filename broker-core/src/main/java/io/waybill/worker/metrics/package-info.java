/**
 * Counters of a worker.
 */
package io.waybill.worker.metrics;
