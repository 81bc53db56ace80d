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
     * Sets the action that the thread which meets the condition runs, while the calling thread waits where only a ring
     * of the doorbell wakes it. Null when it has stopped waiting there.
     *
     * @return false when that is impossible: an interrupt is to end the wait, or the thread is a virtual one
     */
    default boolean wakenBy(Runnable ring) {
        return false;
    }

    /**
     * Notifies of an interrupt of the waiting thread while it was parked. The thread has the interrupt again when it
     * has stopped waiting.
     */
    default void interrupted() {}
}
