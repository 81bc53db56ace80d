package io.waybill.host;

/**
 * Polls the liveness of one process, at lower cost than {@link Processes#liveness}.
 *
 * <p><b>Threads.</b> One at a time. <b>Ownership.</b> Its opener closes it; closing is idempotent.
 */
public interface ProcessWatch extends AutoCloseable {

    Liveness liveness();

    /**
     * Makes the end of the process end waits of {@code changes}. Returns whether it will; otherwise {@link #liveness}
     * has to be polled.
     */
    default boolean endsWaitsOf(ChangeWatch changes) {
        return false;
    }

    @Override
    void close();
}
