package io.waybill.worker.upkeep;

import io.waybill.dispatch.HandlerEntry;
import io.waybill.worker.poll.HandlerCall;

/** What the {@link Watchdog} saw a thread inside of, since when, and what it did about it. Of the housekeeper's thread alone. */
final class WatchedThread {

    private HandlerCall invocation; // null for none
    private long sequence; // 0 when its outcome was settled without it
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

    /** The same at another look. */
    void again() {
        again = true;
    }

    /** Whether it was seen at two looks in a row. */
    boolean isAgain() {
        return again;
    }

    /** Others answered in its place; the thread is still inside. What was done about it must be undone before. */
    void settled() {
        sequence = 0;
        keepsPoller = null;
        stuckIn = null;
    }

    /** It is over. What was done about it must be undone before. */
    void end() {
        begin(null, 0, 0);
    }

    /** How long it was seen so. */
    long ageNs(long nowNs) {
        return nowNs - sinceNs;
    }

    /** The handler that keeps a polling thread with it; null for none. */
    HandlerEntry keepsPoller() {
        return keepsPoller;
    }

    void keepsPoller(HandlerEntry entry) {
        keepsPoller = entry;
    }

    /** The handler that counts it as stuck; null for none. */
    HandlerEntry stuckIn() {
        return stuckIn;
    }

    void stuckIn(HandlerEntry entry) {
        stuckIn = entry;
    }
}
