package io.waybill.exchange;

import io.waybill.dispatch.HandlerEntry;

/** Takes what handlers do wrong, and counts it for their providers. Thread-safe; does not throw. */
public interface HandlerErrors {

    /**
     * A handler threw.
     *
     * @param request in words, as its {@code toString} has it
     */
    void threw(HandlerEntry entry, RequestSource request, Throwable error);

    /** A handler returned without a response. */
    void noResponse(HandlerEntry entry);

    /** A storage or a reference of a message or a response could not be given back. */
    void notReleased(HandlerEntry entry, Throwable error);
}
