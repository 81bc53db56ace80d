package io.waybill.rref;

import io.waybill.api.CallException;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.id.ForkId;
import io.waybill.rref.id.Ids;
import io.waybill.rref.status.Holder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * References in requests and responses: forks that this worker makes and sends, and forks that arrive. Obtained from
 * {@link References#forks}.
 *
 * <p><b>Threads.</b> As {@link References}.
 */
public final class Forks {

    private final Holder self;
    private final Ids ids;
    private final Gate gate;
    private final Peers peers;
    private final Handles handles;
    private final Owners owners;
    private final Users users;

    Forks(Holder self, Ids ids, Gate gate, Peers peers, Handles handles, Owners owners, Users users) {
        this.self = self;
        this.ids = ids;
        this.gate = gate;
        this.peers = peers;
        this.handles = handles;
        this.owners = owners;
        this.users = users;
    }

    /**
     * Makes a fork for one receiver. It must be sent, or {@linkplain #abandon abandoned}.
     *
     * @throws CallException when the reference has failed, or has no handle any more
     */
    public ForkData fork(Reference reference, Holder to) {
        gate.enter();
        try {
            handles.requireUsable(reference, RRefErrors.FORK);
            peers.meet(to);
            ForkId fork = ids.nextFork();
            peers.shared(to);
            if (reference instanceof UserReference user) {
                return users.share(user, fork, to);
            }
            owners.share((OwnerReference) reference, fork, to);
            return new ForkData(self.worker(), reference.id(), fork, self.worker(), self.epoch(), reference.type());
        } finally {
            gate.leave();
        }
    }

    /** Notes that the fork was not sent. */
    public void abandon(ForkData data) {
        gate.run(() -> {
            if (data.owner() == self.worker()) {
                owners.unshare(data.rref(), data.fork());
            } else {
                users.childDone(data.fork());
            }
        });
    }

    /** Notes that a request or a response with these references was read. */
    public Arrival arrive(List<ForkData> data, Holder from) {
        gate.enter();
        try {
            gate.requireOpen();
            peers.meet(from);
            List<Reference> references = new ArrayList<>(data.size());
            for (ForkData each : data) {
                references.add(take(each));
            }
            return new Arrival(references);
        } finally {
            gate.leave();
        }
    }

    private Reference take(ForkData data) {
        if (data.owner() != self.worker()) {
            peers.meet(new Holder(data.owner(), data.ownerEpoch()));
            return users.take(data);
        }
        if (data.parent() != self.worker()) {
            users.accept(data.fork(), data.parent());
        }
        return owners.take(data);
    }

    /**
     * Notes that a request with this reference was read, and will not be begun; or a response, and no caller waits for
     * it.
     */
    public void decline(ForkData data, Holder from) {
        gate.run(() -> {
            peers.meet(from);
            if (data.owner() == self.worker() && data.parent() == self.worker()) {
                owners.unshare(data.rref(), data.fork());
            } else {
                users.decline(data);
            }
        });
    }

    /** Calls back once, when every reference is confirmed by its owner or has failed, with the first error if any. */
    public void whenReady(Arrival arrival, Consumer<Optional<CallException>> notified) {
        gate.run(() -> {
            List<UserReference> waiting = new ArrayList<>();
            for (Reference reference : arrival.references()) {
                if (reference instanceof UserReference user && !user.isCompleted()) {
                    waiting.add(user);
                }
            }
            if (waiting.isEmpty()) {
                Optional<CallException> failure = arrival.failure();
                gate.later(() -> notified.accept(failure));
                return;
            }
            arrival.waitFor(waiting.size());
            waiting.forEach(user -> user.whenCompleted(() -> oneReady(arrival, notified)));
        });
    }

    /** Returns whether every reference is confirmed by its owner, so that a body may start at once. */
    public boolean isReady(Arrival arrival) {
        gate.enter();
        try {
            for (Reference reference : arrival.references()) {
                boolean waits = reference instanceof UserReference user && !user.isCompleted();
                if (waits || Arrival.failure(reference) != null) {
                    return false;
                }
            }
            return true;
        } finally {
            gate.leave();
        }
    }

    private void oneReady(Arrival arrival, Consumer<Optional<CallException>> notified) {
        gate.run(() -> {
            if (arrival.oneLess()) {
                Optional<CallException> failure = arrival.failure();
                gate.later(() -> notified.accept(failure));
            }
        });
    }

    /** Releases the handles of a request's references. Idempotent. */
    public void release(Arrival arrival) {
        gate.run(() -> {
            if (arrival.takeRelease()) {
                arrival.references().forEach(handles::release);
            }
        });
    }
}
