package io.waybill.exchange;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Count of the messages that the handler of one request dispatched and whose handlers have not ended, and whether the
 * request's handler waits for one. While the count is above zero, the request is not reused.
 *
 * <p><b>Threads.</b> {@link #began}, {@link #endedInside} and {@link #waits} belong to the handler's thread,
 * {@link #isEmpty} to the thread that ends the request, after the handler has returned; any thread does the rest.
 */
public final class DispatchedCount {

    private int began; // by the handler's thread, without messages that ended inside
    private final AtomicInteger ended = new AtomicInteger();
    private final AtomicBoolean waiting =
            new AtomicBoolean(); // written by the handler's thread, read by the housekeeper

    /** Counts in a message that is dispatched. */
    void began() {
        began++;
    }

    /** Counts out a message whose handler ended on the handler's thread, inside the dispatching method. */
    void endedInside() {
        began--;
    }

    /** Counts out a message whose handler ended. */
    void ended() {
        ended.getAndIncrement();
    }

    /** Returns whether no handler of a dispatched message may still use the request. */
    public boolean isEmpty() {
        return began == ended.get();
    }

    /**
     * Sets whether the handler's thread waits for the handler of a dispatched message, which is watched in its place.
     */
    void waits(boolean isWaiting) {
        waiting.setRelease(isWaiting);
    }

    /** Returns whether the handler's thread waits for the handler of a dispatched message. */
    public boolean isWaiting() {
        return waiting.getAcquire();
    }
}
