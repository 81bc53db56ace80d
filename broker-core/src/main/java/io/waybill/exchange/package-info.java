/**
 * The life of a request in its handler, the same for a peer's, for one that another handler dispatched from inside its own, and for one that is replayed. Start at
 * {@link io.waybill.exchange.Exchange}; messages inside others are in {@link io.waybill.exchange.InnerRequests}.
 */
package io.waybill.exchange;
