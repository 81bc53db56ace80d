package io.waybill.rref;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.host.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * All references of one worker: the values it owns, and its forks of others' values.
 *
 * <p><b>Threads.</b> Thread-safe: one lock, see {@link Gate}. Transport, waiters, listeners and values are called without it, on the
 * thread that brought the change. Nothing happens by itself: somebody calls {@link #tick} when {@link #nextDueNs} has come.
 */
public final class References implements AutoCloseable {
    private final int self;
    private final int generation;
    private final RRefSettings settings;
    private final ReferenceListener listener;
    private final Gate gate = new Gate();
    private final Lives lives = new Lives();
    private final Alarms alarms;
    private final ControlSends sends;
    private final Owners owners;
    private final Users users;
    private long nextLocalId;
    private Drain drain; // null until asked for
    private boolean closed;

    /** @param firstLocalId a number that no earlier life of this worker gave to an id, nor any above it */
    public References(
            Holder self,
            long firstLocalId,
            RRefSettings settings,
            Clock clock,
            ControlTransport transport,
            ReferenceListener listener) {
        this.self = self.worker();
        this.generation = self.generation();
        this.nextLocalId = firstLocalId;
        this.settings = settings;
        this.listener = listener;
        this.alarms = new Alarms(clock);
        this.sends = new ControlSends(
                gate, alarms, lives, transport, listener, settings.slowRetry().toNanos());
        this.owners = new Owners(
                this.self, generation, gate, alarms, lives, settings.memory().toNanos());
        this.users = new Users(
                this.self, gate, alarms, lives, sends, settings.ownerReturn().toNanos());
        gate.atLeaving(() -> {
            if (drain != null) {
                drain.look();
            }
        });
    }

    // ---- making references

    /** A reference to a value that another worker is about to be asked to create, as an open handle. */
    public UserReference create(Holder owner, String type) {
        if (owner.worker() == self) {
            throw new IllegalArgumentException("use createHere for a value of this worker's own");
        }
        gate.enter();
        try {
            requireOpen();
            meet(owner);
            RRefId id = nextRRefId();
            return users.create(owner.worker(), owner.generation(), id, nextForkId(), type);
        } finally {
            gate.leave();
        }
    }

    /** A reference to a value that this worker is about to be asked by itself to create, as an open handle. */
    public OwnerReference createHere(String type) {
        gate.enter();
        try {
            requireOpen();
            return owners.createHere(nextRRefId(), type);
        } finally {
            gate.leave();
        }
    }

    /** A reference to a value that is here, as an open handle. The value is this object's from now on. */
    public OwnerReference own(KeptValue value, String type) {
        gate.enter();
        try {
            requireOpen();
            return owners.own(nextRRefId(), value, type);
        } finally {
            gate.leave();
        }
    }

    /** Takes back a value of an earlier life. It goes unless somebody claims a fork of it within the grace period. */
    public OwnerReference restore(RRefId id, KeptValue value, String type) {
        gate.enter();
        try {
            requireOpen();
            return owners.restore(id, value, type, settings.grace().toNanos());
        } finally {
            gate.leave();
        }
    }

    /** {@code REMOTE_RET} came. */
    public void created(UserReference reference, RRefId id, ForkId fork) {
        gate.run(() -> users.created(reference, id, fork));
    }

    /** The request to create it failed, or nothing came in time. */
    public void creationFailed(UserReference reference, CallException why) {
        gate.run(() -> users.creationFailed(reference, why));
    }

    // ---- creating values for others, and giving them out

    /** A request to create a value is about to run. */
    public Begun begin(RRefId id, ForkId fork, Holder from, String type) {
        gate.enter();
        try {
            meet(from);
            return closed ? Begun.DELETED : owners.begin(id, fork, from, type);
        } finally {
            gate.leave();
        }
    }

    /** The body gave a value, which is this object's from now on. */
    public void finish(RRefId id, KeptValue value) {
        gate.run(() -> owners.finish(id, value, null));
    }

    /** The body failed, and so will whoever wants the value. */
    public void finishFailed(RRefId id, CallException why) {
        gate.run(() -> owners.finish(id, null, why));
    }

    /** Tells when the value has come, or an error instead. */
    public void whenSettled(RRefId id, Runnable told) {
        gate.run(() -> owners.whenSettled(id, told));
    }

    /**
     * Another worker wants the value.
     *
     * @param ownerGeneration the life of this worker in which that one believes the value to be
     */
    public void fetch(RRefId id, int ownerGeneration, ValueWaiter waiter) {
        gate.run(() -> owners.fetch(id, ownerGeneration, waiter));
    }

    /** This worker wants its own value. */
    public void read(OwnerReference reference, ValueWaiter waiter) {
        gate.run(() -> owners.read(reference, waiter));
    }

    // ---- sharing

    /**
     * Makes a fork for one receiver. It must be sent, or {@linkplain #abandon abandoned}.
     *
     * @throws CallException when the reference has failed, or has no handle any more
     */
    public ForkData fork(Reference reference, Holder to) {
        gate.enter();
        try {
            requireUsableUnderLock(reference, "fork()");
            meet(to);
            ForkId fork = nextForkId();
            if (lives.isOver(to)) {
                releaseLater(to);
            }
            if (reference instanceof UserReference user) {
                return users.share(user, fork, to);
            }
            owners.share((OwnerReference) reference, fork, to);
            return new ForkData(self, reference.id(), fork, self, generation, reference.type());
        } finally {
            gate.leave();
        }
    }

    /** The fork was not sent. */
    public void abandon(ForkData data) {
        gate.run(() -> {
            if (data.owner() == self) {
                owners.unshare(data.rref(), data.fork());
            } else {
                users.childDone(data.fork());
            }
        });
    }

    /** A request with these references was read. */
    public Arrival arrive(List<ForkData> data, Holder from) {
        gate.enter();
        try {
            requireOpen();
            meet(from);
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
        if (data.owner() != self) {
            meet(new Holder(data.owner(), data.ownerGeneration()));
            return users.take(data);
        }
        if (data.parent() != self) {
            users.accept(data.fork(), data.parent());
        }
        return owners.take(data);
    }

    /** A request with this reference was read, and will not be begun. */
    public void decline(ForkData data, Holder from) {
        gate.run(() -> {
            meet(from);
            if (data.owner() == self && data.parent() == self) {
                owners.unshare(data.rref(), data.fork());
            } else {
                users.decline(data);
            }
        });
    }

    /** Tells once, with the first error if any reference failed, that every reference is confirmed by its owner or has failed. */
    public void whenReady(Arrival arrival, Consumer<Optional<CallException>> told) {
        gate.run(() -> {
            List<UserReference> waiting = new ArrayList<>();
            for (Reference reference : arrival.references()) {
                if (reference instanceof UserReference user && !user.isSettled()) {
                    waiting.add(user);
                }
            }
            if (waiting.isEmpty()) {
                Optional<CallException> failure = arrival.failure();
                gate.later(() -> told.accept(failure));
                return;
            }
            arrival.waitFor(waiting.size());
            waiting.forEach(user -> user.whenSettled(() -> oneReady(arrival, told)));
        });
    }

    /** Whether every reference is confirmed by its owner, so that a body may start at once. */
    public boolean isReady(Arrival arrival) {
        gate.enter();
        try {
            for (Reference reference : arrival.references()) {
                if (reference instanceof UserReference user && (!user.isSettled() || user.failure != null)) {
                    return false;
                }
            }
            return true;
        } finally {
            gate.leave();
        }
    }

    private void oneReady(Arrival arrival, Consumer<Optional<CallException>> told) {
        gate.run(() -> {
            if (arrival.oneLess()) {
                Optional<CallException> failure = arrival.failure();
                gate.later(() -> told.accept(failure));
            }
        });
    }

    /** Gives the handles of a request's references back. Once; again it does nothing. */
    public void release(Arrival arrival) {
        gate.run(() -> {
            if (arrival.takeRelease()) {
                arrival.references().forEach(this::releaseUnderLock);
            }
        });
    }

    // ---- handles

    /**
     * One handle more.
     *
     * @throws CallException when there is none any more
     */
    public void retain(Reference reference) {
        gate.enter();
        try {
            if (reference instanceof UserReference user) {
                requireHandle(user, user.handles);
                user.handles++;
            } else if (reference instanceof OwnerReference owner) {
                requireHandle(owner, owner.handles);
                owner.handles++;
            }
        } finally {
            gate.leave();
        }
    }

    /** One handle less. With the last one the fork is given back. */
    public void release(Reference reference) {
        gate.run(() -> releaseUnderLock(reference));
    }

    private void releaseUnderLock(Reference reference) {
        if (reference instanceof UserReference user && user.handles > 0) {
            users.releaseHandle(user);
        } else if (reference instanceof OwnerReference owner && owner.handles > 0) {
            owners.releaseHandle(owner);
        }
    }

    /** @throws CallException when the reference has failed, or has no handle any more */
    public void requireUsable(Reference reference, String operation) {
        gate.enter();
        try {
            requireUsableUnderLock(reference, operation);
        } finally {
            gate.leave();
        }
    }

    private void requireUsableUnderLock(Reference reference, String operation) {
        requireOpen();
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

    /** Whether its owner has said that it knows the reference. An owner always knows its own. */
    public boolean confirmedByOwner(Reference reference) {
        gate.enter();
        try {
            return !(reference instanceof UserReference user)
                    || user.state == UserReference.State.CONFIRMED && !user.orphan;
        } finally {
            gate.leave();
        }
    }

    /** Tells with nothing when the owner has confirmed it, or with the error when it failed. */
    public void whenSettled(UserReference reference, Consumer<Optional<CallException>> told) {
        gate.run(() -> {
            if (reference.isSettled()) {
                gate.later(() -> told.accept(Optional.ofNullable(reference.failure)));
            } else {
                reference.whenSettled(() -> told.accept(Optional.ofNullable(reference.failure)));
            }
        });
    }

    // ---- what other workers say, and what becomes of them

    /**
     * A control message arrived.
     *
     * @return why it can't be acknowledged; empty when it can
     */
    public Optional<CallException> receive(ControlMessage message, Holder from) {
        gate.enter();
        try {
            requireOpen();
            meet(from);
            if (message.type() == MessageType.RREF_CHILD_ACCEPT) {
                users.childDone(message.fork());
            } else if (message.type() == MessageType.RREF_USER_DELETE) {
                owners.userDelete(message);
            } else {
                return Optional.ofNullable(owners.forkRequest(message, from));
            }
            return Optional.empty();
        } finally {
            gate.leave();
        }
    }

    /** A worker's process is gone. To be told before anything of its next life. */
    public void lost(Holder dead) {
        gate.run(() -> lostUnderLock(dead));
    }

    private void lostUnderLock(Holder dead) {
        lives.lost(dead);
        sends.drop(dead);
        users.ownerLost(dead);
        releaseLater(dead);
    }

    private void releaseLater(Holder dead) {
        alarms.in(settings.grace().toNanos(), () -> {
            users.release(dead);
            int forks = owners.release(dead);
            if (forks > 0) {
                gate.later(() -> listener.onReleasedForDead(dead, forks));
            }
        });
    }

    /** A worker that had died is there again. */
    public void returned(Holder life) {
        gate.run(() -> meet(life));
    }

    /** Whatever comes from a life says that it is there, though nobody has told so before. */
    private void meet(Holder life) {
        if (lives.endsAnother(life)) {
            lostUnderLock(new Holder(life.worker(), life.generation() - 1));
        }
        if (lives.meet(life)) {
            users.ownerReturned(life.worker());
        }
    }

    // ---- time

    /** When {@link #tick} has something to do, on the clock's monotonic time; {@link Long#MAX_VALUE} for never. */
    public long nextDueNs() {
        return alarms.nextDueNs();
    }

    /** Does what is due: retries, grace periods, deadlines. */
    public void tick() {
        gate.run(alarms::ring);
    }

    // ---- the end

    /**
     * Begins the graceful end: waits until every reference is settled, gives back every fork, waits until nobody has a fork of a value of
     * this worker. Half of the limit goes to the first wait at most.
     */
    public void drain(Duration limit, Consumer<DrainReport> told) {
        gate.run(() -> {
            Drain begun = new Drain(this, owners, users, sends, gate, told);
            drain = begun;
            alarms.in(limit.toNanos() / 2, begun::onHalf);
            alarms.in(limit.toNanos(), begun::onLimit);
        });
    }

    /** The abrupt end: sends nothing more, closes every value, fails whoever waits, and tells of leaks. */
    @Override
    public void close() {
        gate.run(() -> {
            if (!closed) {
                closed = true;
                sends.close();
                alarms.clear();
                users.close();
                owners.close(listener);
            }
        });
    }

    /** This life of this worker. */
    public Holder self() {
        return new Holder(self, generation);
    }

    /** The owner's life in which a value was made, as far as this worker knows. */
    public int ownerGeneration(Reference reference) {
        gate.enter();
        try {
            return reference instanceof UserReference user ? user.ownerGeneration : generation;
        } finally {
            gate.leave();
        }
    }

    public RRefCounters counters() {
        gate.enter();
        try {
            return countersUnderLock();
        } finally {
            gate.leave();
        }
    }

    RRefCounters countersUnderLock() {
        return new RRefCounters(
                owners.size(),
                owners.forks(),
                users.pending(),
                sends.size(),
                users.confirmed(),
                users.children(),
                owners.ignored() + users.ignored());
    }

    /** What this worker has to do with which forks. */
    public List<ReferenceStatus> statuses() {
        List<ReferenceStatus> statuses = new ArrayList<>();
        gate.run(() -> {
            owners.list(statuses::add);
            users.list(statuses::add);
        });
        return statuses;
    }

    /** Every value in the table, with its forks and their holders, one after the other. */
    public void forEachFork(BiConsumer<OwnerReference, Map<ForkId, Holder>> look) {
        gate.run(() -> owners.all().forEach(entry -> look.accept(entry, Map.copyOf(entry.forks))));
    }

    Owners owners() {
        return owners;
    }

    private void requireOpen() {
        if (closed) {
            throw RRefErrors.closed();
        }
    }

    private RRefId nextRRefId() {
        return new RRefId(self, nextLocalId++);
    }

    private ForkId nextForkId() {
        return new ForkId(self, nextLocalId++);
    }
}
