package io.waybill.rref;

import io.waybill.rref.id.RRefId;

/**
 * A reference as this worker sees it. One object for all local handles, which {@link References#retain} and {@link References#release}
 * count.
 *
 * <p><b>Threads.</b> What stands here never changes.
 */
public sealed interface Reference permits OwnerReference, UserReference {

    RRefId id();

    /** Id of the worker that has the value. */
    int owner();

    /** As its creator named it. */
    String type();

    /** Whether this worker has the value. */
    default boolean isOwner() {
        return this instanceof OwnerReference;
    }
}
