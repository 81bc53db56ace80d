package io.waybill.rref;

/**
 * Counts the handles that this worker has of its references.
 *
 * <p><b>Threads.</b> Guarded by the {@link Gate}.
 */
final class Handles {

    private final Gate gate;
    private final Owners owners;
    private final Users users;

    Handles(Gate gate, Owners owners, Users users) {
        this.gate = gate;
        this.owners = owners;
        this.users = users;
    }

    void retain(Reference reference) {
        if (reference instanceof UserReference user) {
            requireHandle(user, user.handles);
            user.handles++;
        } else if (reference instanceof OwnerReference owner) {
            requireHandle(owner, owner.handles);
            owner.handles++;
        }
    }

    void release(Reference reference) {
        if (reference instanceof UserReference user && user.handles > 0) {
            users.releaseHandle(user);
        } else if (reference instanceof OwnerReference owner && owner.handles > 0) {
            owners.releaseHandle(owner);
        }
    }

    void requireUsable(Reference reference, String operation) {
        gate.requireOpen();
        if (reference instanceof UserReference user) {
            if (user.failure != null) {
                throw user.failure;
            }
            requireUse(user, user.handles, operation);
        } else if (reference instanceof OwnerReference owner) {
            requireUse(owner, owner.handles, operation);
        }
    }

    private static void requireHandle(Reference reference, int handles) {
        requireUse(reference, handles, "retain()");
    }

    private static void requireUse(Reference reference, int handles, String operation) {
        if (handles == 0) {
            throw RRefErrors.deleted(reference, operation);
        }
    }
}
