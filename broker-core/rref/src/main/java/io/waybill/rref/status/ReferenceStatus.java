package io.waybill.rref.status;

import io.waybill.rref.id.ForkId;
import io.waybill.rref.id.RRefId;

/**
 * Role of a worker for one fork, at one moment.
 *
 * @param part its role
 * @param rref the reference
 * @param fork the fork; the {@linkplain ForkId#ofOwner owner's own} where only the owner has handles
 * @param peer the worker at the other end: the fork's holder, the value's owner, or the receiver, by {@code part}
 * @param state in lower case: of the value {@code awaited}, {@code creating}, {@code completed} or {@code failed}, of a
 * held fork {@code pending}, {@code confirmed}, {@code failed} or {@code orphan}, and {@code pending} of one that was
 * passed on
 * @param handles number of handles that are open on this worker, of the reference as a whole
 * @param kept whether this worker has the value, and has it on the disk too
 * @param type type of the value, as its creator named it
 */
public record ReferenceStatus(
        Part part, RRefId rref, ForkId fork, Holder peer, String state, int handles, boolean kept, String type) {

    /** Role of a worker for a fork. */
    public enum Part {
        /** The worker owns the value. */
        OWNS,
        /** The fork is the worker's own, of another worker's value. */
        HOLDS,
        /** The worker made the fork from one that it holds, and waits for the report of its receiver. */
        PASSES
    }
}
