package io.waybill.handling;

import io.waybill.api.handler.Outbox;

/** An outbox whose content is known: what the handler, or an interceptor in its place, has responded so far. */
public interface ComposedOutbox extends Outbox {

    /** Returns the response as composed so far. */
    OutgoingResponse composed();

    /** Returns whether the response was deferred. */
    boolean isDeferred();
}
