package io.waybill.rref.id;

import io.waybill.api.Value;
import io.waybill.api.WorkerInfo;
import io.waybill.rref.Forks;
import java.util.Objects;

/**
 * Data of a reference as sent to another worker. Created by {@link Forks#fork}, for one receiver.
 *
 * @param owner id of the worker that has the value
 * @param rref the reference
 * @param fork the receiver's fork
 * @param parent id of the worker that shared it
 * @param ownerEpoch the owner's epoch when the value was created, as far as the parent knows
 * @param type type of the value, as its creator named it
 */
public record ForkData(int owner, RRefId rref, ForkId fork, int parent, int ownerEpoch, String type) {

    public ForkData {
        Objects.requireNonNull(rref);
        Objects.requireNonNull(fork);
        Objects.requireNonNull(type);
        if (owner < 0 || owner > WorkerInfo.MAX_ID || parent < 0 || parent > WorkerInfo.MAX_ID) {
            throw new IllegalArgumentException(
                    "owner and parent are worker ids, 0.." + WorkerInfo.MAX_ID + ": " + owner + ", " + parent);
        }
        if (ownerEpoch < 1) {
            throw new IllegalArgumentException("an epoch is at least 1: " + ownerEpoch);
        }
    }

    /** Returns the content of a {@code REMOTE_RET} for a created value. */
    public Value ids() {
        return Value.tuple(
                Value.of(rref.createdOn()),
                Value.of(rref.localId()),
                Value.of(fork.createdOn()),
                Value.of(fork.localId()));
    }
}
