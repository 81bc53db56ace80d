package io.waybill.api.broker;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * Is notified of other workers that come and go.
 *
 * <p>A listener that is slower than the changes is notified of what differs when it returns: it may miss an incarnation that came and went
 * meanwhile, and never misses the last state.
 *
 * <p><b>Threads.</b> One call at a time, on a thread of the bundle's own. <b>Errors.</b> What it throws is logged and counted; the next
 * change is delivered all the same.
 */
@ConsumerType
public interface PeerListener {

    /** A worker is there that this listener has not seen before; also for those that were there when the listener began. */
    default void joined(Incarnation peer) {}

    /** A worker that this listener has seen is there again, as another process. The previous one has ended. */
    default void restarted(Incarnation peer, Incarnation previous) {}

    /** A worker's process has ended without leaving. */
    default void lost(Incarnation peer) {}

    /** A worker has left. */
    default void left(Incarnation peer) {}
}
