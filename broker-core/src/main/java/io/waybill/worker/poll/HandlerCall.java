package io.waybill.worker.poll;

import io.waybill.dispatch.HandlerEntry;

/**
 * One call of a handler, as the {@code Watchdog} sees it from another thread while it runs.
 *
 * <p>The object may serve another request at any moment: what was read counts only when {@link HandlerSlot#isStill} says so afterwards.
 */
public interface HandlerCall extends CallOrigin {

    /** Another number for each request of this worker; 0 when its outcome is settled. */
    long sequence();

    /** The handler; null when there is no request. */
    HandlerEntry entry();

    /** Of the request; {@link io.waybill.api.MessageId#NONE} when it is over. */
    long id();

    /** The response that its handler deferred; null for none. */
    default DeferredOutcome late() {
        return null;
    }

    @Override
    default long parent() {
        return id();
    }

    /** Responds to the request in place of its handler, if this is still the one of that number and it has no response. */
    void abandon(long sequence);
}
