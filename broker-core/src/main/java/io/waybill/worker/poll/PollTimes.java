package io.waybill.worker.poll;

/**
 * Times of polling and waiting, in nanoseconds: the settings {@code polling.*}, and constants that follow from how polling works. When threads of
 * handlers are added is in {@link io.waybill.dispatch.ExecutorSettings}. The page {@code docs/design/polling.md} says who waits for what.
 *
 * @param waiting decides the first two times where they are {@link #AUTO}
 * @param spin how long the poller, or a leader, polls without pause after the last message
 * @param callerSpin how long a thread polls for its own response before it sleeps
 * @param leaderRestNs how long a leader sleeps on the doorbell before it leaves that to the poller, and waits for the permit before it gives up
 * @param leaderCheckNs when the poller first checks a leader that has run a short handler; each time after twice as long
 * @param maxLeaderCheckNs the longest of these times: each check costs a wake-up, and the processor that it takes from that thread
 * @param maxSleepNs how long records stay unread whose sender was killed before it rang
 * @param maxIdleSleepNs the same after {@link #SLEEPS_BEFORE_IDLE} sleeps that nothing ended: each costs a worker at rest, whose caches are cold, 150 us
 * @param attemptNs what an attempt to poll again may lose before it ends. A single wait would tell little: the peer may still sleep itself, and both
 *     begin to poll again only when some waits in a row pay
 * @param restNs how long threads sleep at once after polling has not paid; twice as long each time that the next attempt loses, too
 * @param maxRestNs the longest of these times
 * @param listenerLimitNs a listener that takes longer loses the permit, so that other calls do not wait for it
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

    /** A time that follows from the wait strategy. */
    public static final long AUTO = -1;

    /** How long the poller waits for the permit before it looks by itself; the thread that releases it ends the wait. */
    static final long STANDBY_NS = 50_000_000;

    /** How long the poller leaves deadlines that have passed to the thread that has the permit. */
    static final long OVERDUE_NS = 1_000_000;

    /** How long the poller rests after an error, which may come again at once. */
    static final long ERROR_REST_NS = 1_000_000;

    /** Calls that take as long are worth a thread each, while others wait. */
    static final long WORTH_A_THREAD_NS = 5_000;

    /** How long a leader tries to get the permit before it parks for it: the poller releases it once it sees that there is one. */
    static final long PERMIT_NS = 20_000;

    /** How long no thread leads after a backlog, which the poller spreads over threads. */
    static final long PAUSE_NS = 10_000_000;

    /** How long a thread tries to get a permit that others release every few microseconds. */
    static final long LOOK_NS = 5_000_000;

    /** How long a caller waits for its outcome before it looks by itself; the thread that completes it ends the wait. */
    static final long MAX_PARK_NS = 50_000_000;

    /** How long a caller rests that waits for room, where polling does not pay. */
    static final long ROOM_PARK_NS = 50_000;

    /** What a wait costs more when the thread sleeps: system calls and wake-ups on both sides. */
    static final long WAKE_UP_NS = 100_000;

    /** What was saved long ago does not count. */
    static final long MAX_BALANCE_NS = 50_000_000;

    /** Sleeps in a row that nothing has ended, after which a worker is idle. */
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
                    name + ": expected " + Math.max(0, minNs) + " to " + maxNs + " ns, found " + ns + " ns");
        }
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

    /** The same with another strategy. */
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

    /** Returns how long the poller, or a leader, polls without pause after the last message. */
    long spinNs() {
        return spin == AUTO ? waiting.spinNs() : spin;
    }

    /** Returns how long a thread polls for its own response before it sleeps. */
    long callerSpinNs() {
        return callerSpin == AUTO ? waiting.callerNs() : callerSpin;
    }
}
