/**
 * Messages that handlers dispatch from inside the ones that they handle: their handlers, threads, outcomes, and those that wait for a
 * handler. Start at {@link io.waybill.worker.inner.InnerRequests}.
 */
package io.waybill.worker.inner;
