/**
 * Export to a receiver of OTLP: the spans of calls, and metrics.
 *
 * <p>Start at {@link io.waybill.metrics.otlp.OtlpExporter}. The messages are those of
 * <a href="https://github.com/open-telemetry/opentelemetry-proto">opentelemetry-proto</a>, version 1.
 */
package io.waybill.metrics.otlp;
