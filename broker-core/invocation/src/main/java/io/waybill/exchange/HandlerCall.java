package io.waybill.exchange;

import io.waybill.dispatch.HandlerEntry;

/**
 * Call of a handler, as the {@code Watchdog} sees it from another thread while it runs.
 *
 * <p>The object may be reused for another request at any moment: values that were read are valid only if
 * its thread's stack confirms them afterwards.
 */
public interface HandlerCall extends CallOrigin {

    /** Returns the sequence number of the request in this worker; 0 when it is completed. */
    long sequence();

    /** Returns the handler; null when there is no request. */
    HandlerEntry entry();

    /** Returns the id of the request; {@link io.waybill.api.MessageId#NONE} when it is completed. */
    long id();

    /** Returns the deferred response; null for none. */
    default DeferredResponse late() {
        return null;
    }

    /** Returns whether its thread waits for the handler of a message inside this one, which is watched in its place. */
    default boolean isWaiting() {
        return false;
    }

    @Override
    default long parent() {
        return id();
    }

    /** Completes the request in place of its handler, if it still has this sequence number and no response. */
    void abandon(long sequence);
}
