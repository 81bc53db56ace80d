package io.waybill.handling;

import io.waybill.api.handler.Outbox;

/**
 * Outbox whose content is known: the response of the handler, or of an interceptor in its place, as composed so far.
 */
public interface ComposedOutbox extends Outbox {

    /** Returns the response as composed so far. */
    OutgoingResponse composed();

    /** Returns whether the response was deferred. */
    boolean isDeferred();
}
