package io.waybill.rref;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.rref.control.ControlMessage;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.id.ForkId;
import io.waybill.rref.id.RRefId;
import io.waybill.rref.status.Holder;
import io.waybill.rref.status.ReferenceListener;
import io.waybill.rref.status.ReferenceStatus;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Forks of other workers' values that this worker has, and the forks that it made of them for third workers.
 *
 * <p>A fork is released once its creation has succeeded or failed, no handle is left, and every fork made of it has
 * been reported by its receiver or ended with it (G2).
 *
 * <p><b>Threads.</b> Guarded by the {@link Gate}.
 */
final class Users {

    /** Fork that was sent to a receiver, and the reference that is kept for it. */
    private record Child(UserReference parent, Holder to) {}

    private final int self;
    private final Gate gate;
    private final Alarms alarms;
    private final Incarnations incarnations;
    private final ControlSends sends;
    private final long ownerReturnNs;
    private final Map<ForkId, UserReference> pending = new LinkedHashMap<>();
    private final Map<ForkId, UserReference> confirmed = new LinkedHashMap<>();
    private final Map<ForkId, Child> children = new LinkedHashMap<>();
    private long ignored;

    Users(int self, Gate gate, Alarms alarms, Incarnations incarnations, ControlSends sends, long ownerReturnNs) {
        this.self = self;
        this.gate = gate;
        this.alarms = alarms;
        this.incarnations = incarnations;
        this.sends = sends;
        this.ownerReturnNs = ownerReturnNs;
    }

    // ---- creation

    UserReference create(int owner, int ownerEpoch, RRefId id, ForkId fork, String type) {
        UserReference user = new UserReference(owner, ownerEpoch, id, fork, type, UserReference.NO_PARENT);
        pending.put(fork, user);
        return user;
    }

    void created(UserReference user, RRefId id, ForkId fork) {
        if (!user.created || user.state != UserReference.State.PENDING) {
            ignored++;
        } else if (!user.id().equals(id) || !user.fork().equals(fork)) {
            fail(user, RRefErrors.gone(user.id(), user.owner()));
        } else {
            confirm(user);
        }
    }

    /** Fails a creation: the reference has an error from now on, and its owner is notified of its end. */
    void creationFailed(UserReference user, CallException why) {
        if (!user.created || user.state != UserReference.State.PENDING) {
            ignored++;
            return;
        }
        user.unknownToOwner = why.code() == ErrorCode.WORKER_LOST;
        fail(user, RRefErrors.creationFailed(why));
    }

    // ---- arriving

    /** Creates an open handle of a fork that another worker shared with this worker. */
    UserReference take(ForkData data) {
        UserReference known = pending.containsKey(data.fork()) ? pending.get(data.fork()) : confirmed.get(data.fork());
        if (known != null) {
            ignored++;
            known.handles++;
            return known;
        }
        boolean fromOwner = data.parent() == data.owner();
        UserReference user = new UserReference(
                data.owner(), data.ownerEpoch(), data.rref(), data.fork(), data.type(), data.parent());
        if (fromOwner) {
            user.awaitingParent = UserReference.NO_PARENT;
        }
        pending.put(data.fork(), user);
        if (incarnations.isOver(data.owner(), data.ownerEpoch())) {
            orphan(user);
        } else if (fromOwner) {
            confirm(user);
        } else {
            request(user);
        }
        return user;
    }

    /** Releases a fork that arrived in a message that no handler reads, unless the message is a duplicate. */
    void decline(ForkData data) {
        if (pending.containsKey(data.fork()) || confirmed.containsKey(data.fork())) {
            ignored++;
            return;
        }
        if (data.parent() == data.owner()) {
            sends.persist(ControlMessage.userDelete(data.rref(), data.fork()), data.owner());
        } else {
            accept(data.fork(), data.parent());
        }
    }

    /** Notifies a parent that it need not wait for this fork any more. */
    void accept(ForkId fork, int parent) {
        if (!incarnations.isDown(parent)) {
            sends.persist(ControlMessage.childAccept(fork), parent);
        }
    }

    private void request(UserReference user) {
        user.requestedOf = incarnations.current(user.owner(), user.ownerEpoch);
        ControlMessage message = ControlMessage.forkRequest(user.id(), user.fork(), user.ownerEpoch);
        sends.attempt(message, user.owner(), new ControlSends.Ending() {
            @Override
            public void acknowledged() {
                user.requestedOf = 0;
                user.ownerEpoch = incarnations.current(user.owner(), user.ownerEpoch);
                confirm(user);
            }

            @Override
            public void failed(CallException why) {
                user.requestedOf = 0;
                user.unknownToOwner = why.code() == ErrorCode.REFERENCE_DELETED || why.code() == ErrorCode.OWNER_LOST;
                fail(user, why);
            }
        });
    }

    // ---- completion

    private void confirm(UserReference user) {
        if (user.state == UserReference.State.FAILED) {
            ignored++;
            return;
        }
        user.orphan = false;
        user.state = UserReference.State.CONFIRMED;
        pending.remove(user.fork());
        if (!user.ended) {
            confirmed.put(user.fork(), user);
        }
        completed(user);
    }

    private void fail(UserReference user, CallException why) {
        if (user.state == UserReference.State.FAILED) {
            return;
        }
        user.orphan = false;
        user.state = UserReference.State.FAILED;
        user.failure = why;
        pending.remove(user.fork());
        confirmed.remove(user.fork());
        completed(user);
    }

    private void completed(UserReference user) {
        if (user.awaitingParent != UserReference.NO_PARENT) {
            accept(user.fork(), user.awaitingParent);
            user.awaitingParent = UserReference.NO_PARENT;
        }
        user.takeListeners().forEach(gate::later);
        endIfUnused(user);
    }

    private void endIfUnused(UserReference user) {
        boolean failed = user.state == UserReference.State.FAILED;
        if (user.ended
                || user.requestedOf != 0
                || user.state == UserReference.State.PENDING
                || user.children > 0
                || user.holds() > 0 && !failed) {
            return;
        }
        user.ended = true;
        confirmed.remove(user.fork());
        if (user.orphan || user.unknownToOwner || incarnations.isOver(user.owner(), user.ownerEpoch)) {
            return;
        }
        sends.persist(
                failed && user.created
                        ? ControlMessage.userDelete(user.id(), user.fork(), user.failure)
                        : ControlMessage.userDelete(user.id(), user.fork()),
                user.owner());
    }

    // ---- sharing

    ForkData share(UserReference user, ForkId fork, Holder to) {
        children.put(fork, new Child(user, to));
        user.children++;
        return new ForkData(user.owner(), user.id(), fork, self, user.ownerEpoch, user.type());
    }

    /** Notes that the receiver has reported, or that there is none. */
    void childDone(ForkId fork) {
        Child child = children.remove(fork);
        if (child == null) {
            ignored++;
            return;
        }
        child.parent().children--;
        endIfUnused(child.parent());
    }

    /** Drops forks whose receivers died: they will not be reported. @return their number */
    int release(Holder dead) {
        int released = 0;
        for (Map.Entry<ForkId, Child> child : new ArrayList<>(children.entrySet())) {
            Holder to = child.getValue().to();
            if (to.worker() == dead.worker() && to.epoch() <= dead.epoch()) {
                childDone(child.getKey());
                released++;
            }
        }
        return released;
    }

    // ---- handles

    void releaseHandle(UserReference user) {
        user.handles--;
        endIfUnused(user);
    }

    void releaseFromValue(UserReference user) {
        user.inValues--;
        endIfUnused(user);
    }

    // ---- ends of owners

    void ownerLost(Holder dead) {
        for (UserReference user : everyone()) {
            if (user.owner() != dead.worker()) {
                continue;
            }
            if (user.requestedOf <= dead.epoch()) {
                user.requestedOf = 0; // it was dropped
            }
            boolean ownIncarnation = user.ownerEpoch <= dead.epoch();
            boolean byCall = user.created && user.state == UserReference.State.PENDING; // the call will show it
            if (user.orphan || ownIncarnation && !byCall) {
                orphan(user);
                endIfUnused(user);
            }
        }
    }

    /** Waits for a limited time for the ended owner to return with the value. */
    private void orphan(UserReference user) {
        if (ownerReturnNs == 0) {
            lost(user);
            return;
        }
        user.orphan = true;
        alarms.in(ownerReturnNs, () -> {
            if (user.orphan && incarnations.isDown(user.owner())) {
                lost(user);
            }
        });
        if (!incarnations.isDown(user.owner()) && user.requestedOf == 0) {
            request(user);
        }
    }

    private void lost(UserReference user) {
        user.unknownToOwner = true;
        fail(user, RRefErrors.ownerLost(user.id(), user.owner()));
    }

    void ownerReturned(int owner) {
        for (UserReference user : everyone()) {
            if (user.orphan && user.requestedOf == 0 && user.owner() == owner) {
                request(user);
            }
        }
    }

    private List<UserReference> everyone() {
        List<UserReference> all = new ArrayList<>(pending.values());
        all.addAll(confirmed.values());
        return all;
    }

    /** Lists each fork of this worker, and each fork that it made and that was not reported yet. */
    void list(Consumer<ReferenceStatus> lines) {
        for (UserReference user : everyone()) {
            lines.accept(new ReferenceStatus(
                    ReferenceStatus.Part.HOLDS,
                    user.id(),
                    user.fork(),
                    new Holder(user.owner(), user.ownerEpoch),
                    user.orphan ? "orphan" : user.state.name().toLowerCase(Locale.ROOT),
                    user.holds(),
                    false,
                    user.type()));
        }
        children.forEach((fork, child) -> lines.accept(new ReferenceStatus(
                ReferenceStatus.Part.PASSES,
                child.parent().id(),
                fork,
                child.to(),
                "pending",
                child.parent().holds(),
                false,
                child.parent().type())));
    }

    // ---- the end of the worker

    boolean isQuiet() {
        return pending.isEmpty() && children.isEmpty();
    }

    /** Releases all confirmed forks even if handles are open, and also those held by values. */
    void endAll() {
        for (UserReference user : new ArrayList<>(confirmed.values())) {
            user.handles = 0;
            endIfUnused(user);
        }
    }

    /** Reports the forks that were not released, and never will be. */
    void close(ReferenceListener listener) {
        list(leaked -> gate.later(() -> listener.onLeak(leaked)));
        for (UserReference user : everyone()) {
            user.unknownToOwner = true;
            fail(user, RRefErrors.closed());
        }
        pending.clear();
        confirmed.clear();
        children.clear();
    }

    int pending() {
        return pending.size();
    }

    int confirmed() {
        return confirmed.size();
    }

    int children() {
        return children.size();
    }

    long ignored() {
        return ignored;
    }
}
