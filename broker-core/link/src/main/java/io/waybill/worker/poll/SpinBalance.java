package io.waybill.worker.poll;

/**
 * Balance of polling in place of sleeping for one worker: the wake-ups that polling saved, less the time that was
 * polled without success. With more runnable threads than processors, a polling thread keeps the thread that has the
 * work from its processor for a time slice.
 *
 * <p>When more time was lost than saved, threads that wait sleep immediately, for {@link PollTimes#restNs}, and for
 * twice as long each time that the next attempt loses, too.
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

    /** Returns whether a thread that waits is to sleep immediately. */
    boolean sleepsAtOnce(long nowNs) {
        if (sleeps && nowNs - sleepsUntilNs >= 0) {
            balanceNs = times.attemptNs();
            sleeps = false;
        }
        return sleeps;
    }

    /** Returns whether threads sleep immediately, as of the last check of the time. */
    boolean sleeps() {
        return sleeps;
    }

    /** Records that the awaited event came while a thread polled for it. */
    void saved() {
        long balance = balanceNs;
        if (balance < PollTimes.MAX_BALANCE_NS) {
            balanceNs = balance + PollTimes.WAKE_UP_NS;
        } else if (nextRestNs != times.restNs()) {
            nextRestNs = times.restNs();
        }
    }

    /** Records that a thread polled for {@code polledNs} without success. */
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
