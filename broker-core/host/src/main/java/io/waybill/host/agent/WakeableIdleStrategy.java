package io.waybill.host.agent;

import org.agrona.concurrent.IdleStrategy;

/**
 * Waits between the duty cycles of one agent: until a time that the agent sets, or until another thread wakes it.
 *
 * <p><b>Threads.</b> {@link #wake} by any; the rest by the agent's thread.
 */
public interface WakeableIdleStrategy extends IdleStrategy {

    /** Sets when the next duty cycle is due: in {@code maxNs}. Each call replaces the one before. */
    void rest(long maxNs);

    /** Makes a duty cycle due: ends the current wait, or else the next one. */
    void wake();

    /** Waits until a duty cycle is due, however much work the last one did. */
    @Override
    default void idle(int workCount) {
        idle();
    }

    /** Waits until a duty cycle is due. */
    @Override
    void idle();
}
