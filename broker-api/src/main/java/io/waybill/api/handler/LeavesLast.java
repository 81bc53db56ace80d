package io.waybill.api.handler;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * What a {@link MessageHandler} implements, too, if its requests belong to something that earlier requests began: a transaction, or a pass over a graph. When its
 * bundle is updated or stopped, it
 * serves on until the bundle's other handlers have ended their requests and nothing is in progress, so that what began with a version ends with that version.
 *
 * <p>Requests of the bundle's other handlers wait for the next version meanwhile: let them begin what this one continues. After the drain limit this handler
 * leaves with the rest.
 *
 * <p><b>Threads.</b> {@link #isInProgress} is called repeatedly on the thread that stops the bundle.
 */
@ConsumerType
public interface LeavesLast {

    /** Returns whether something is in progress that may need more requests of this handler. An exception counts as no. */
    boolean isInProgress();
}
