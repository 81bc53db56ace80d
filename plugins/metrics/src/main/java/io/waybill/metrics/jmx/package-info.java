/**
 * Workers as MXBeans.
 *
 * <p>Start at {@link io.waybill.metrics.jmx.WorkerBeans}.
 */
package io.waybill.metrics.jmx;
