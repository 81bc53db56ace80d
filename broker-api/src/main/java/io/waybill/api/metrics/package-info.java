/**
 * Figures of the workers of a home: calls, errors, latencies, bytes and memory.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.api.metrics.HomeMetrics} for the figures of all workers
 *   <li>{@link io.waybill.api.metrics.OperationMetrics} for the figures of one operation
 * </ul>
 */
@Version("0.1.0")
package io.waybill.api.metrics;

import org.osgi.annotation.versioning.Version;
