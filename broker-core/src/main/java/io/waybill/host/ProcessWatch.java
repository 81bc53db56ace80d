package io.waybill.host;

/**
 * Asks again and again whether one process lives, for less than {@link Processes#liveness} costs.
 *
 * <p><b>Threads.</b> One thread at a time asks. <b>Ownership.</b> Whoever got it closes it; closing again does nothing.
 */
public interface ProcessWatch extends AutoCloseable {

    Liveness liveness();

    @Override
    void close();
}
