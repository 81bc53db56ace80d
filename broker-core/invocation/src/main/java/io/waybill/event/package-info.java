/**
 * Listeners for events of calls, and the events themselves.
 *
 * <p>Start at {@link io.waybill.event.CallListeners}.
 */
package io.waybill.event;
