package io.waybill.rref.id;

/**
 * Id of a reference: all forks of one value share it.
 *
 * @param createdOn id of the worker that made the id, which need not be the owner
 * @param localId that worker's counter, 48 bits; it never gives a number twice, not even after a restart
 */
public record RRefId(int createdOn, long localId) {

    public RRefId {
        UniqueId.check(createdOn, localId);
    }

    /** Returns PyTorch's text form. */
    @Override
    public String toString() {
        return UniqueId.text(createdOn, localId);
    }
}
