/**
 * Faults that a worker makes on purpose, so that what must outlast them can be seen to: requests that fail, are lost, late, doubled or out
 * of order. Here is decided what becomes of each; the worker does it.
 *
 * <p>Start at {@link io.waybill.injection.InjectionSettings}.
 */
package io.waybill.injection;
