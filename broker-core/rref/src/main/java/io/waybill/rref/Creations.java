package io.waybill.rref;

import io.waybill.api.CallException;
import io.waybill.rref.id.ForkId;
import io.waybill.rref.id.Ids;
import io.waybill.rref.id.RRefId;
import io.waybill.rref.status.Holder;

/**
 * Creates references: to values that other workers are requested to create, to this worker's own values, and to values
 * that others request from this worker. Obtained from {@link References#creations}.
 *
 * <p><b>Threads.</b> As {@link References}.
 */
public final class Creations {

    private final int self;
    private final Ids ids;
    private final Gate gate;
    private final Peers peers;
    private final Owners owners;
    private final Users users;
    private final long graceNs;

    Creations(int self, Ids ids, Gate gate, Peers peers, Owners owners, Users users, long graceNs) {
        this.self = self;
        this.ids = ids;
        this.gate = gate;
        this.peers = peers;
        this.owners = owners;
        this.users = users;
        this.graceNs = graceNs;
    }

    /** Creates a reference to a value that another worker is about to be requested to create, as an open handle. */
    public UserReference create(Holder owner, String type) {
        if (owner.worker() == self) {
            throw new IllegalArgumentException("use createHere for a value of this worker's own");
        }
        gate.enter();
        try {
            gate.requireOpen();
            peers.meet(owner);
            RRefId id = ids.nextRRef();
            return users.create(owner.worker(), owner.epoch(), id, ids.nextFork(), type);
        } finally {
            gate.leave();
        }
    }

    /** Creates a reference to a value that this worker is about to request from itself, as an open handle. */
    public OwnerReference createHere(String type) {
        gate.enter();
        try {
            gate.requireOpen();
            return owners.createHere(ids.nextRRef(), type);
        } finally {
            gate.leave();
        }
    }

    /** Creates a reference to a value that is here, as an open handle. The value is this object's from now on. */
    public OwnerReference own(OwnedValue value, String type) {
        gate.enter();
        try {
            gate.requireOpen();
            return owners.own(ids.nextRRef(), value, type);
        } finally {
            gate.leave();
        }
    }

    /**
     * Restores a value of an earlier incarnation. It is removed unless a worker claims a fork of it within the grace
     * period.
     */
    public OwnerReference restore(RRefId id, OwnedValue value, String type) {
        gate.enter();
        try {
            gate.requireOpen();
            return owners.restore(id, value, null, type, graceNs);
        } finally {
            gate.leave();
        }
    }

    /**
     * Notes that a value of an earlier incarnation can't be restored; a worker that claims a fork of it within the
     * grace period gets the reason.
     */
    public OwnerReference restoreFailed(RRefId id, CallException why) {
        gate.enter();
        try {
            gate.requireOpen();
            return owners.restore(id, null, why, "", graceNs);
        } finally {
            gate.leave();
        }
    }

    /** Completes a creation after its {@code REMOTE_RET} arrived. */
    public void created(UserReference reference, RRefId id, ForkId fork) {
        gate.run(() -> users.created(reference, id, fork));
    }

    /** Fails a creation whose request failed or timed out. */
    public void creationFailed(UserReference reference, CallException why) {
        gate.run(() -> users.creationFailed(reference, why));
    }

    /** Fails a creation that this worker requested from itself. */
    public void creationFailed(OwnerReference reference, CallException why) {
        gate.run(() -> owners.creationFailed(reference, why));
    }

    /** Notes that a request to create a value is about to run. */
    public CreationDecision begin(RRefId id, ForkId fork, Holder from, String type) {
        gate.enter();
        try {
            peers.meet(from);
            return gate.isClosed() ? CreationDecision.DELETED : owners.begin(id, fork, from, type);
        } finally {
            gate.leave();
        }
    }

    /** Completes a creation: the body gave a value, which is this object's from now on. */
    public void finish(RRefId id, OwnedValue value) {
        gate.run(() -> owners.finish(id, value, null));
    }

    /** Fails a creation whose body failed, and with it all waits for the value. */
    public void finishFailed(RRefId id, CallException why) {
        gate.run(() -> owners.finish(id, null, why));
    }
}
