package io.waybill.worker.poll;

import io.waybill.home.Doorbell;
import io.waybill.host.Threads;
import io.waybill.host.agent.WakeableIdleStrategy;

/**
 * How a polling thread waits between two polls: not at all, spinning, parked, or on the doorbell. Each poll chooses.
 *
 * <p><b>Threads.</b> {@link #wake} by any; the rest by the agent's thread. <b>Memory.</b> Waiting allocates nothing.
 */
final class PollIdleStrategy implements WakeableIdleStrategy {

    private enum Way {
        NONE,
        SPIN,
        PARK,
        DOORBELL
    }

    private final Doorbell doorbell;
    private final Threads threads;
    private volatile Thread thread; // the agent's; null before it starts
    private Way next = Way.NONE;
    private long maxNs;
    private boolean woken;

    PollIdleStrategy(Doorbell doorbell, Threads threads) {
        this.doorbell = doorbell;
        this.threads = threads;
    }

    /** The calling thread is the agent's. */
    void bind() {
        thread = threads.current();
    }

    /** The next wait is a hint to the processor. */
    void spin() {
        next = Way.SPIN;
    }

    /** The next wait is on the doorbell. */
    void sleep(long timeoutNs) {
        next = Way.DOORBELL;
        maxNs = timeoutNs;
    }

    /** Returns whether the last wait on the doorbell ended by a ring or a {@link #wake}. */
    boolean wasWoken() {
        return woken;
    }

    /** The next wait parks the thread, or, for 0, is none. */
    @Override
    public void rest(long restNs) {
        next = restNs > 0 ? Way.PARK : Way.NONE;
        maxNs = restNs;
    }

    @Override
    public void idle() {
        switch (next) {
            case NONE -> {}
            case SPIN -> threads.spin();
            case PARK -> threads.park(this, maxNs);
            case DOORBELL -> woken = doorbell.await(maxNs);
        }
    }

    @Override
    public void reset() {
        next = Way.NONE;
    }

    @Override
    public String alias() {
        return "polling";
    }

    @Override
    public void wake() {
        Thread waiting = thread;
        if (waiting != null) {
            threads.unpark(waiting);
        }
        doorbell.wake();
    }
}
