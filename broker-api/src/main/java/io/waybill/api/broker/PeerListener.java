package io.waybill.api.broker;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * Listener for other workers that join and leave.
 *
 * <p>A slow listener is notified of the difference between the state that it knows and the current one: it may miss a
 * short-lived incarnation, but never the last state.
 *
 * <p><b>Threads.</b> One call at a time, on one of the bundle's own threads. <b>Errors.</b> An exception is logged and
 * counted; later changes are still delivered.
 */
@ConsumerType
public interface PeerListener {

    /**
     * Called for a live worker that is new to this listener; also for each worker that was live when the listener was
     * added.
     */
    default void joined(Incarnation peer) {}

    /** Called when a known worker has restarted as another process. The previous process has ended. */
    default void restarted(Incarnation peer, Incarnation previous) {}

    /** Called when a worker's process has ended without leaving. */
    default void lost(Incarnation peer) {}

    /** Called when a worker has left. */
    default void left(Incarnation peer) {}
}
