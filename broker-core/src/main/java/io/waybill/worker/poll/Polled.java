package io.waybill.worker.poll;

/**
 * What is polled: the queues of the peers.
 *
 * <p><b>Threads.</b> Belongs to the holder of the {@link PollPermit}.
 */
public interface Polled {

    /** What a poll gives when a handler ran and another thread polls meanwhile. */
    int PERMIT_LOST = -1;

    /**
     * Looks once where something may be.
     *
     * @return how much was done, 0 for nothing, or {@link #PERMIT_LOST}
     */
    int poll();

    /**
     * Looks once at everything, without exception: before the poller sleeps. Reads no more than a part of what lies there, so that what it
     * gives is above 0 while anything may be left.
     *
     * @return as {@link #poll}
     */
    int pollAll();

    /** Reads the clock, by which deadlines are judged; the next poll settles what is overdue. Calls no listener. */
    void readClock();
}
