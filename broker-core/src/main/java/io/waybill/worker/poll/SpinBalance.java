package io.waybill.worker.poll;

/**
 * Whether this worker gains by polling in place of sleeping: the wake-ups that it saved, less the time for which it polled and nothing came. With
 * more runnable threads than processors, a thread that polls keeps the one away that has the work, for a time slice.
 *
 * <p>When more time was lost than saved, threads that wait sleep at once, for {@link PollTimes#restNs}, and for twice as long each time that the next attempt
 * loses, too.
 *
 * <p><b>Threads.</b> Any; a race loses one wait.
 */
final class SpinBalance {

    private final PollTimes times;
    private volatile long balanceNs;
    private volatile boolean sleeps;
    private volatile long sleepsUntilNs;
    private volatile long nextRestNs;

    SpinBalance(PollTimes times) {
        this.times = times;
        this.balanceNs = times.attemptNs();
        this.nextRestNs = times.restNs();
    }

    /** Returns whether a thread that waits is to sleep at once. */
    boolean sleepsAtOnce(long nowNs) {
        if (sleeps && nowNs - sleepsUntilNs >= 0) {
            balanceNs = times.attemptNs();
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
        if (balance < PollTimes.MAX_BALANCE_NS) {
            balanceNs = balance + PollTimes.WAKE_UP_NS;
        } else if (nextRestNs != times.restNs()) {
            nextRestNs = times.restNs();
        }
    }

    /** Notes that a thread polled for so long, and has nothing of it. */
    void lost(long polledNs, long nowNs) {
        long balance = balanceNs - polledNs;
        if (balance < 0 && !sleeps) {
            sleepsUntilNs = nowNs + nextRestNs;
            nextRestNs = Math.min(2 * nextRestNs, times.maxRestNs());
            sleeps = true;
        }
        balanceNs = Math.max(0, balance);
    }
}
