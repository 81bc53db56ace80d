package io.waybill.host;

/**
 * Asks again and again whether one process lives, for less than {@link Processes#liveness} costs.
 *
 * <p><b>Threads.</b> One thread at a time asks. <b>Ownership.</b> Whoever got it closes it; closing again does nothing.
 */
public interface ProcessWatch extends AutoCloseable {

    Liveness liveness();

    /** Makes the end of the process end waits of {@code changes}. Returns whether it will; otherwise somebody has to ask now and then. */
    default boolean endsWaitsOf(ChangeWatch changes) {
        return false;
    }

    @Override
    void close();
}
