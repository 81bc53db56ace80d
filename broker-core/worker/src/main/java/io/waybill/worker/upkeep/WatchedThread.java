package io.waybill.worker.upkeep;

import io.waybill.dispatch.HandlerEntry;
import io.waybill.exchange.HandlerCall;

/**
 * Observations of one thread by the {@link Watchdog}: its call, the time since which it has been in it, and the
 * measures taken. By the housekeeper's thread alone.
 */
final class WatchedThread {

    private HandlerCall invocation; // null for none
    private long sequence; // 0 when it got its outcome from elsewhere
    private boolean again;
    private long sinceNs;
    private HandlerEntry keepsPoller; // null while it does not
    private HandlerEntry stuckIn; // null while it is not

    boolean isOf(HandlerCall now, long ofSequence) {
        return invocation == now && sequence == ofSequence;
    }

    boolean isIn(HandlerCall now) {
        return invocation == now;
    }

    void begin(HandlerCall now, long ofSequence, long nowNs) {
        invocation = now;
        sequence = ofSequence;
        sinceNs = nowNs;
        again = false;
        keepsPoller = null;
        stuckIn = null;
    }

    /** Notes that the thread is in the same call at another check. */
    void again() {
        again = true;
    }

    /** Returns whether the call was seen at two checks in a row. */
    boolean isAgain() {
        return again;
    }

    /**
     * Notes that the call was completed elsewhere while its handler is still running. The measures must be undone
     * before.
     */
    void completed() {
        sequence = 0;
        keepsPoller = null;
        stuckIn = null;
    }

    /** Notes that the call has ended. The measures must be undone before. */
    void end() {
        begin(null, 0, 0);
    }

    /** Returns the time for which the call has been seen. */
    long ageNs(long nowNs) {
        return nowNs - sinceNs;
    }

    /** Returns the handler that blocks a polling thread; null for none. */
    HandlerEntry keepsPoller() {
        return keepsPoller;
    }

    void keepsPoller(HandlerEntry entry) {
        keepsPoller = entry;
    }

    /** Returns the handler that counts the call as stuck; null for none. */
    HandlerEntry stuckIn() {
        return stuckIn;
    }

    void stuckIn(HandlerEntry entry) {
        stuckIn = entry;
    }
}
