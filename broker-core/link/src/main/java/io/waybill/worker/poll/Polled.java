package io.waybill.worker.poll;

/**
 * The queues of the peers, as seen by the poller.
 *
 * <p><b>Threads.</b> Belongs to the holder of the {@link PollPermit}.
 */
public interface Polled {

    /** Result of a poll in which a handler ran and another thread took the permit. */
    int PERMIT_LOST = -1;

    /**
     * Polls the peers that may have written something.
     *
     * @return the amount of work done, 0 for none, or {@link #PERMIT_LOST}
     */
    int poll();

    /**
     * Polls all peers: before the poller sleeps. Reads at most a part of a backlog; the result is above 0 while
     * anything may be left.
     *
     * @return the amount of work done, 0 for none, or {@link #PERMIT_LOST}
     */
    int pollAll();

    /** Returns whether a poll may find something now. Reads no record, and calls no foreign code. */
    boolean mayHaveWork();

    /** Reads the clock for checking deadlines; the next poll completes what is overdue. Calls no listener. */
    void readClock();
}
