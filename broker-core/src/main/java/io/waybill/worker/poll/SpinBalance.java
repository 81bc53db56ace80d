package io.waybill.worker.poll;

/**
 * Whether this worker gains by polling in place of sleeping: the wake-ups that it saved, less the time for which it polled and nothing came. With
 * more runnable threads than processors, a thread that polls keeps the one away that has the work, for a time slice.
 *
 * <p>When more time was lost than saved, threads that wait sleep at once, for 20 ms, and for twice as long each time that the next attempt
 * loses, too.
 *
 * <p><b>Threads.</b> Any; a race loses one wait.
 */
final class SpinBalance {

    /** What a wait costs more when the thread sleeps: system calls and wake-ups on both sides. */
    private static final long WAKE_UP_NS = 100_000;

    /** What was saved long ago does not count. */
    private static final long MAX_BALANCE_NS = 50_000_000;

    /**
     * What an attempt may lose before it ends. A single wait would tell little: the peer may still sleep itself, and both begin to poll again only
     * when some waits in a row pay.
     */
    private static final long ATTEMPT_NS = 2_000_000;

    private static final long FIRST_REST_NS = 20_000_000;
    private static final long MAX_REST_NS = 640_000_000;

    private volatile long balanceNs = ATTEMPT_NS;
    private volatile boolean sleeps;
    private volatile long sleepsUntilNs;
    private volatile long nextRestNs = FIRST_REST_NS;

    /** Returns whether a thread that waits is to sleep at once. */
    boolean sleepsAtOnce(long nowNs) {
        if (sleeps && nowNs - sleepsUntilNs >= 0) {
            balanceNs = ATTEMPT_NS;
            sleeps = false;
        }
        return sleeps;
    }

    /** Returns whether threads sleep at once, as of the last check of the time. */
    boolean sleeps() {
        return sleeps;
    }

    /** Notes that what a thread polled for came while it did. */
    void saved() {
        long balance = balanceNs;
        if (balance < MAX_BALANCE_NS) {
            balanceNs = balance + WAKE_UP_NS;
        } else if (nextRestNs != FIRST_REST_NS) {
            nextRestNs = FIRST_REST_NS;
        }
    }

    /** Notes that a thread polled for so long, and has nothing of it. */
    void lost(long polledNs, long nowNs) {
        long balance = balanceNs - polledNs;
        if (balance < 0 && !sleeps) {
            sleepsUntilNs = nowNs + nextRestNs;
            nextRestNs = Math.min(2 * nextRestNs, MAX_REST_NS);
            sleeps = true;
        }
        balanceNs = Math.max(0, balance);
    }
}
