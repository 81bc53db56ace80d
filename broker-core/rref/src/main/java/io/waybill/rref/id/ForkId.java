package io.waybill.rref.id;

/**
 * Id of a fork: the right of one worker to use a reference.
 *
 * @param createdOn id of the worker that made the fork, which is seldom the worker that holds it
 * @param localId that worker's counter, 48 bits, shared with its {@link RRefId}s
 */
public record ForkId(int createdOn, long localId) {

    public ForkId {
        UniqueId.check(createdOn, localId);
    }

    /** Returns the fork that represents the owner itself, which has no fork. */
    public static ForkId ofOwner(RRefId rref) {
        return new ForkId(rref.createdOn(), rref.localId());
    }

    public boolean isOwnerOf(RRefId rref) {
        return createdOn == rref.createdOn() && localId == rref.localId();
    }

    /** Returns PyTorch's text form. */
    @Override
    public String toString() {
        return UniqueId.text(createdOn, localId);
    }
}
