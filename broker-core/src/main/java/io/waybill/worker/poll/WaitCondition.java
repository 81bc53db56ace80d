package io.waybill.worker.poll;

/**
 * Condition that a thread waits for while it polls: the outcome of its own call.
 *
 * <p><b>Threads.</b> {@link #park} by the thread that waits; {@link #isMet} by any.
 */
public interface WaitCondition {

    boolean isMet();

    /** Parks the calling thread until the condition is met or {@code maxNs} has passed; may return early. */
    void park(long maxNs);

    /**
     * The calling thread waits where only a ring of the doorbell wakes it: the thread that meets the condition runs this. Null when it has stopped to wait
     * there.
     *
     * @return false when that can't be: an interrupt is to end the wait, or the thread is a virtual one
     */
    default boolean wakenBy(Runnable ring) {
        return false;
    }

    /** The waiting thread was interrupted while it was parked. It has the interrupt again when it has stopped waiting. */
    default void interrupted() {}
}
