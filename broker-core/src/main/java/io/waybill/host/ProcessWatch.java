package io.waybill.host;

/**
 * Polls whether one process lives, for less than {@link Processes#liveness} costs.
 *
 * <p><b>Threads.</b> One thread at a time asks. <b>Ownership.</b> Its opener closes it; closing again does nothing.
 */
public interface ProcessWatch extends AutoCloseable {

    Liveness liveness();

    /** Makes the end of the process end waits of {@code changes}. Returns whether it will; otherwise {@link #liveness} has to be polled. */
    default boolean endsWaitsOf(ChangeWatch changes) {
        return false;
    }

    @Override
    void close();
}
