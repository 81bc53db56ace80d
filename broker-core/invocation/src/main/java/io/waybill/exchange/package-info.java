/**
 * Lifecycle of a request in its handler: the same for a request of a peer, for one that another handler dispatched from
 * inside its own, and for one that is replayed. Start at {@link io.waybill.exchange.Exchange}; messages inside others
 * are in {@link io.waybill.exchange.InnerRequests}.
 */
package io.waybill.exchange;
