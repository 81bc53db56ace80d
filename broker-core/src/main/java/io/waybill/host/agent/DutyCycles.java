package io.waybill.host.agent;

/**
 * Body of a thread that does its work in turns, so that an {@link Invoker} can run it without a thread.
 *
 * <p><b>Threads.</b> {@link #run} is the whole of it, on a thread of its own; otherwise the invoker's thread calls the other methods.
 */
public interface DutyCycles extends Runnable {

    /** Returns whether there is work, or may be, and ends the wait for it then. Does not block. */
    boolean isDue();

    /** Returns when it is due by the time alone, on the monotonic clock; {@link Long#MAX_VALUE} for never. */
    long dueNs();

    /**
     * Does one turn.
     *
     * @return false when it has ended
     */
    boolean cycle();
}
