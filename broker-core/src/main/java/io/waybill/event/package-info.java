/**
 * The listeners for what happens to calls, and the events that they are called with.
 *
 * <p>Start at {@link io.waybill.event.CallListeners}.
 */
package io.waybill.event;
