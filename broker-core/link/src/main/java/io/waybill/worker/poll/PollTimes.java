package io.waybill.worker.poll;

/**
 * Times of polling and waiting, in nanoseconds: the settings {@code polling.*}, and constants that follow from the way
 * polling works. {@link io.waybill.dispatch.ExecutorSettings} has the times after which threads of handlers are added.
 * The page {@code docs/design/polling.md} describes which thread waits for what.
 *
 * @param waiting decides the first two times where they are {@link #AUTO}
 * @param spin time that the poller, or a leader, polls without pause after the last message
 * @param callerSpin time that a thread polls for its own response before it sleeps
 * @param leaderRestNs time that a leader sleeps on the doorbell before it leaves that to the poller, and that it waits
 *     for the permit before it stops leading
 * @param leaderCheckNs time until the poller first checks a leader that has run a short handler; doubled for each later
 *     check
 * @param maxLeaderCheckNs upper bound of these times: each check costs a wake-up, and the processor that it takes from
 *     that thread
 * @param maxSleepNs max time that records stay unread whose sender was killed before it rang
 * @param maxIdleSleepNs the same time after {@link #SLEEPS_BEFORE_IDLE} sleeps that nothing ended: each costs a worker
 *     at rest, whose caches are cold, 150 us
 * @param attemptNs time that an attempt to poll again may lose before it ends. A single wait would not be enough
 *     evidence: the peer may still sleep itself, and both begin to poll again only when some waits in a row pay
 * @param restNs time for which threads sleep immediately after polling has not paid; doubled each time that the next
 *     attempt loses, too
 * @param maxRestNs upper bound of these times
 * @param listenerLimitNs max time in a listener; after it, its thread loses the permit, so that other calls do not wait
 *     for it
 */
public record PollTimes(
        Waiting waiting,
        long spin,
        long callerSpin,
        long leaderRestNs,
        long leaderCheckNs,
        long maxLeaderCheckNs,
        long maxSleepNs,
        long maxIdleSleepNs,
        long attemptNs,
        long restNs,
        long maxRestNs,
        long listenerLimitNs) {

    /** Marker of a time that follows from the wait strategy. */
    public static final long AUTO = -1;

    /**
     * Max time that the poller waits for the permit before it checks by itself; the thread that releases it ends the
     * wait.
     */
    static final long STANDBY_NS = 50_000_000;

    /** Time that the poller leaves deadlines that have passed to the thread that has the permit. */
    static final long OVERDUE_NS = 1_000_000;

    /** Rest of the poller after an error, which may recur immediately. */
    static final long ERROR_REST_NS = 1_000_000;

    /** Duration from which calls are worth a thread each, while other calls wait. */
    static final long WORTH_A_THREAD_NS = 5_000;

    /**
     * Max time that a leader tries to get the permit before it parks for it: the poller releases it once it sees that
     * there is one.
     */
    static final long PERMIT_NS = 20_000;

    /** Time for which no thread leads after a backlog, which the poller spreads over threads. */
    static final long PAUSE_NS = 10_000_000;

    /** Max time that a thread tries to get a permit that other threads release every few microseconds. */
    static final long LOOK_NS = 5_000_000;

    /**
     * Max time that a caller waits for its outcome before it checks by itself; the thread that completes it ends the
     * wait.
     */
    static final long MAX_PARK_NS = 50_000_000;

    /** Rest of a caller that waits for room, where polling does not pay. */
    static final long ROOM_PARK_NS = 50_000;

    /** Additional cost of a wait when the thread sleeps: system calls and wake-ups on both sides. */
    static final long WAKE_UP_NS = 100_000;

    /** Max balance: older savings do not count. */
    static final long MAX_BALANCE_NS = 50_000_000;

    /** Number of sleeps in a row that nothing has ended, after which a worker is idle. */
    static final int SLEEPS_BEFORE_IDLE = 20;

    private static final long MS = 1_000_000;
    private static final long MAX_NS = 3_600_000 * MS;

    public PollTimes {
        requireIn("spin", spin, AUTO, Long.MAX_VALUE);
        requireIn("caller-spin", callerSpin, AUTO, Long.MAX_VALUE);
        requireIn("leader-rest", leaderRestNs, 0, MAX_NS);
        requireIn("leader-check", leaderCheckNs, 10_000, MAX_NS);
        requireIn("max-leader-check", maxLeaderCheckNs, leaderCheckNs, MAX_NS);
        requireIn("max-sleep", maxSleepNs, MS, MAX_NS);
        requireIn("max-idle-sleep", maxIdleSleepNs, maxSleepNs, MAX_NS);
        requireIn("attempt", attemptNs, 0, MAX_NS);
        requireIn("rest", restNs, MS, MAX_NS);
        requireIn("max-rest", maxRestNs, restNs, MAX_NS);
        requireIn("listener-limit", listenerLimitNs, MS, MAX_NS);
    }

    private static void requireIn(String name, long ns, long minNs, long maxNs) {
        if (ns < minNs || ns > maxNs) {
            throw new IllegalArgumentException(
                    name + ": expected " + text(Math.max(0, minNs)) + " to " + text(maxNs) + ", found " + text(ns));
        }
    }

    /** Returns a time in the largest unit of the settings in which it is a whole number. */
    private static String text(long ns) {
        if (ns % (1_000 * MS) == 0) {
            return ns == 0 ? "0" : ns / (1_000 * MS) + "s";
        }
        return ns % MS == 0 ? ns / MS + "ms" : ns % 1_000 == 0 ? ns / 1_000 + "us" : ns + "ns";
    }

    /** Returns the default times of a strategy. */
    public static PollTimes of(Waiting waiting) {
        return new PollTimes(
                waiting,
                AUTO,
                AUTO,
                4 * MS,
                200_000,
                3_200_000,
                500 * MS,
                5_000 * MS,
                2 * MS,
                20 * MS,
                640 * MS,
                100 * MS);
    }

    /** Returns these times with another strategy. */
    public PollTimes with(Waiting other) {
        return new PollTimes(
                other,
                spin,
                callerSpin,
                leaderRestNs,
                leaderCheckNs,
                maxLeaderCheckNs,
                maxSleepNs,
                maxIdleSleepNs,
                attemptNs,
                restNs,
                maxRestNs,
                listenerLimitNs);
    }

    /** Returns whether threads poll until something comes. */
    boolean spins() {
        return waiting == Waiting.SPIN;
    }

    /** Returns the time that the poller, or a leader, polls without pause after the last message. */
    long spinNs() {
        return spin == AUTO ? waiting.spinNs() : spin;
    }

    /** Returns the time that a thread polls for its own response before it sleeps. */
    long callerSpinNs() {
        return callerSpin == AUTO ? waiting.callerNs() : callerSpin;
    }
}
