/**
 * The figures of a home for Prometheus, for receivers of OTLP, and for JMX.
 *
 * <p>Start at {@link io.waybill.metrics.MetricsExport}.
 */
package io.waybill.metrics;
