package io.waybill.rref;

import io.waybill.rref.id.RRefId;

/**
 * Reference in this worker: one object for all local handles, which {@link References#retain} and
 * {@link References#release} count.
 *
 * <p><b>Threads.</b> Immutable.
 */
public sealed interface Reference permits OwnerReference, UserReference {

    RRefId id();

    /** Returns the id of the worker that has the value. */
    int owner();

    /** Returns the type that its creator named. */
    String type();

    /** Returns whether this worker has the value. */
    default boolean isOwner() {
        return this instanceof OwnerReference;
    }
}
