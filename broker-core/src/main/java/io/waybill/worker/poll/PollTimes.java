package io.waybill.worker.poll;

/**
 * Times of polling and waiting, in nanoseconds, in one place. How long a thread polls without pause is in {@link Waiting}; when threads of handlers
 * are added, in {@link io.waybill.dispatch.ExecutorSettings}. The page {@code docs/hacking/polling.md} says who waits for what.
 */
final class PollTimes {

    /** How long the poller waits for the permit before it looks by itself; the thread that releases it ends the wait. */
    static final long STANDBY_NS = 50_000_000;

    /** How often the poller checks a leader that was never late: each check costs a wake-up, and the processor that it takes from that thread. */
    static final long MAX_WATCH_NS = 3_200_000;

    /** When the poller first checks a leader that has run a short handler; each time after twice as long. */
    static final long WATCH_NS = 200_000;

    /** How long the poller leaves deadlines that have passed to the thread that has the permit. */
    static final long OVERDUE_NS = 1_000_000;

    /** How long the poller rests after an error, which may come again at once. */
    static final long ERROR_REST_NS = 1_000_000;

    /** Records of a peer that was killed before it rang are found after so long. */
    static final long MAX_SLEEP_NS = 500_000_000;

    /** The same after {@link #SLEEPS_BEFORE_IDLE} sleeps that nothing ended: each costs a worker at rest, whose caches are cold, 150 us. */
    static final long MAX_IDLE_SLEEP_NS = 5_000_000_000L;

    /** Calls that take as long are worth a thread each, while others wait. */
    static final long WORTH_A_THREAD_NS = 5_000;

    /** How long a leader tries to get the permit before it parks for it: the poller releases it once it sees that there is one. */
    static final long PERMIT_NS = 20_000;

    /** How long a leader sleeps on the doorbell before it leaves that to the poller, and waits for the permit before it gives up. */
    static final long LEADER_REST_NS = 4_000_000;

    /** How long no thread leads after a backlog, which the poller spreads over threads. */
    static final long PAUSE_NS = 10_000_000;

    /** How long a thread tries to get a permit that others release every few microseconds. */
    static final long LOOK_NS = 5_000_000;

    /** How long a caller waits for its outcome before it looks by itself; the thread that completes it ends the wait. */
    static final long MAX_PARK_NS = 50_000_000;

    /** How long a caller rests that waits for room, where polling does not pay. */
    static final long ROOM_PARK_NS = 50_000;

    /** A listener that takes longer loses the permit, so that other calls do not wait for it. */
    static final long CAUGHT_NS = 100_000_000;

    /** What a wait costs more when the thread sleeps: system calls and wake-ups on both sides. */
    static final long WAKE_UP_NS = 100_000;

    /** What was saved long ago does not count. */
    static final long MAX_BALANCE_NS = 50_000_000;

    /** What an attempt to poll again may lose before it ends. A single wait would tell little: the peer may still sleep itself, and both begin to poll again only when some waits in a row pay. */
    static final long ATTEMPT_NS = 2_000_000;

    /** How long threads sleep at once after polling has not paid; twice as long each time that the next attempt loses, too. */
    static final long FIRST_REST_NS = 20_000_000;

    /** The longest of these times. */
    static final long MAX_REST_NS = 640_000_000;

    /** Sleeps in a row that nothing has ended, after which a worker is idle. */
    static final int SLEEPS_BEFORE_IDLE = 20;

    private PollTimes() {}
}
