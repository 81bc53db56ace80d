package io.waybill.exchange;

import io.waybill.dispatch.HandlerEntry;

/** Receiver of failures of handlers, which counts them for their providers. Thread-safe; does not throw. */
public interface HandlerErrors {

    /**
     * Reports that a handler threw.
     *
     * @param request described by its {@code toString}
     */
    void threw(HandlerEntry entry, RequestSource request, Throwable error);

    /** Reports that a handler returned without a response. */
    void noResponse(HandlerEntry entry);

    /** Reports that a storage or a reference of a message or a response could not be released. */
    void notReleased(HandlerEntry entry, Throwable error);
}
