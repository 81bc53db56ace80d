package io.waybill.api.handler;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * Marks a {@link MessageHandler} whose requests continue the work of earlier requests, such as a transaction, or a pass
 * over a graph. When its bundle is updated or stopped, it continues to serve until the bundle's other handlers have
 * completed their requests and no work is in progress, so work completes with the version that began it.
 *
 * <p>Meanwhile requests of the bundle's other handlers wait for the next version, so the other handlers should be those
 * that begin work. After the drain limit this handler is removed with the others.
 *
 * <p><b>Threads.</b> {@link #isInProgress} is called repeatedly on the thread that stops the bundle.
 */
@ConsumerType
public interface LeavesLast {

    /**
     * Returns whether work is in progress that may need more requests of this handler. An exception counts as false.
     */
    boolean isInProgress();
}
