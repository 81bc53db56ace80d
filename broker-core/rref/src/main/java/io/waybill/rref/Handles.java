package io.waybill.rref;

/**
 * Counts the handles that this worker has of its references, and the values of its own that hold them.
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
            requireHandle(user, user.holds());
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

    /** Counts a hold by a value of this worker's. It lasts until the value goes, also when all handles are released. */
    void retainInValue(Reference reference) {
        if (reference instanceof UserReference user) {
            requireHandle(user, user.holds());
            user.inValues++;
        } else {
            retain(reference);
        }
    }

    /** Releases the hold of a value that is closed. */
    void releaseFromValue(Reference reference) {
        if (reference instanceof UserReference user) {
            users.releaseFromValue(user);
        } else {
            release(reference);
        }
    }

    void requireUsable(Reference reference, String operation) {
        gate.requireOpen();
        if (reference instanceof UserReference user) {
            if (user.failure != null) {
                throw user.failure;
            }
            requireUse(user, user.holds(), operation);
        } else if (reference instanceof OwnerReference owner) {
            if (owner.unusable != null) {
                throw owner.unusable;
            }
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
