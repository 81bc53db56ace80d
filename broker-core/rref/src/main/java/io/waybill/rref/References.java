package io.waybill.rref;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.host.Clock;
import io.waybill.rref.control.ControlMessage;
import io.waybill.rref.control.ControlTransport;
import io.waybill.rref.id.ForkId;
import io.waybill.rref.id.Ids;
import io.waybill.rref.id.RRefId;
import io.waybill.rref.status.DrainReport;
import io.waybill.rref.status.Holder;
import io.waybill.rref.status.RRefCounters;
import io.waybill.rref.status.ReferenceListener;
import io.waybill.rref.status.ReferenceStatus;
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
 * <p><b>Threads.</b> Thread-safe: one lock, see {@link Gate}. Transport, waiters, listeners and values are called
 * without it, on the thread that made the change. There is no background thread: the owner calls {@link #tick} when
 * {@link #nextDueNs} has passed.
 */
public final class References implements AutoCloseable {
    private final Holder self;
    private final ReferenceListener listener;
    private final Gate gate = new Gate();
    private final Alarms alarms;
    private final ControlSends sends;
    private final Owners owners;
    private final Users users;
    private final Peers peers;
    private final Handles handles;
    private final Creations creations;
    private final Forks forks;
    private Drain drain; // null until first use

    /**
     * Creates the references of a worker.
     *
     * @param firstLocalId the first of a range of numbers that no earlier incarnation of this worker used in an id
     */
    public References(
            Holder self,
            long firstLocalId,
            RRefSettings settings,
            Clock clock,
            ControlTransport transport,
            ReferenceListener listener) {
        this.self = self;
        this.listener = listener;
        alarms = new Alarms(clock);
        Incarnations incarnations = new Incarnations();
        int id = self.worker();
        sends = new ControlSends(gate, alarms, incarnations, transport, listener, settings.retries());
        OwnerTable table = new OwnerTable(
                id, self.epoch(), gate, alarms, incarnations, settings.memory().toNanos());
        owners = new Owners(id, self.epoch(), gate, alarms, incarnations, table);
        users = new Users(
                id, gate, alarms, incarnations, sends, settings.ownerReturn().toNanos());
        long graceNs = settings.grace().toNanos();
        peers = new Peers(gate, alarms, incarnations, sends, owners, users, graceNs, listener);
        handles = new Handles(gate, owners, users);
        Ids ids = new Ids(id, firstLocalId);
        creations = new Creations(id, ids, gate, peers, owners, users, graceNs);
        forks = new Forks(self, ids, gate, peers, handles, owners, users);
        gate.atLeaving(() -> {
            if (drain != null) {
                drain.look();
            }
        });
    }

    /** Returns the part that creates references. */
    public Creations creations() {
        return creations;
    }

    /** Returns the part that sends and receives references. */
    public Forks forks() {
        return forks;
    }

    // ---- values

    /** Calls back when the value has been created, or has failed. */
    public void whenCompleted(RRefId id, Runnable notified) {
        gate.run(() -> owners.whenCompleted(id, notified));
    }

    /**
     * Fetches a value for another worker.
     *
     * @param ownerEpoch incarnation of this worker that has the value, as far as the other worker knows
     */
    public void fetch(RRefId id, int ownerEpoch, ValueWaiter waiter) {
        gate.run(() -> owners.reads().fetch(id, ownerEpoch, waiter));
    }

    /** Reads a value of this worker itself. */
    public void read(OwnerReference reference, ValueWaiter waiter) {
        gate.run(() -> owners.reads().read(reference, waiter));
    }

    // ---- handles

    /**
     * Adds one handle.
     *
     * @throws CallException when no handle is left
     */
    public void retain(Reference reference) {
        gate.enter();
        try {
            handles.retain(reference);
        } finally {
            gate.leave();
        }
    }

    /** Releases one handle. With the last one the fork is released. */
    public void release(Reference reference) {
        gate.run(() -> handles.release(reference));
    }

    /**
     * Adds a hold by a value of this worker's, which lasts also when the worker {@linkplain #drain releases} all
     * handles.
     *
     * @throws CallException when no handle is left
     */
    public void retainInValue(Reference reference) {
        gate.enter();
        try {
            handles.retainInValue(reference);
        } finally {
            gate.leave();
        }
    }

    /** Releases the hold of a value that is closed. */
    public void releaseFromValue(Reference reference) {
        gate.run(() -> handles.releaseFromValue(reference));
    }

    /**
     * Throws unless the reference is usable.
     *
     * @throws CallException when the reference has failed, or has no handle any more
     */
    public void requireUsable(Reference reference, String operation) {
        gate.enter();
        try {
            handles.requireUsable(reference, operation);
        } finally {
            gate.leave();
        }
    }

    /** Returns whether its owner has confirmed the reference. Always true on the owner. */
    public boolean confirmedByOwner(Reference reference) {
        gate.enter();
        try {
            return !(reference instanceof UserReference user)
                    || user.state == UserReference.State.CONFIRMED && !user.orphan;
        } finally {
            gate.leave();
        }
    }

    /** Calls back without an error when the owner has confirmed the reference, or with the error when it failed. */
    public void whenCompleted(UserReference reference, Consumer<Optional<CallException>> notified) {
        gate.run(() -> {
            if (reference.isCompleted()) {
                gate.later(() -> notified.accept(Optional.ofNullable(reference.failure)));
            } else {
                reference.whenCompleted(() -> notified.accept(Optional.ofNullable(reference.failure)));
            }
        });
    }

    // ---- messages of other workers, and their ends

    /**
     * Handles a control message that arrived.
     *
     * @return reason why it can't be acknowledged; empty when it can
     */
    public Optional<CallException> receive(ControlMessage message, Holder from) {
        gate.enter();
        try {
            gate.requireOpen();
            peers.meet(from);
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

    /** Notes that a worker's process has ended. To be called before any message of its next incarnation. */
    public void lost(Holder dead) {
        gate.run(() -> peers.lost(dead));
    }

    /** Notes that a worker that had died is there again. */
    public void returned(Holder incarnation) {
        gate.run(() -> peers.meet(incarnation));
    }

    // ---- time

    /** Returns when {@link #tick} is due, on the clock's monotonic time; {@link Long#MAX_VALUE} for never. */
    public long nextDueNs() {
        return alarms.nextDueNs();
    }

    /** Runs everything that is due: retries, grace periods, deadlines. */
    public void tick() {
        gate.run(alarms::ring);
    }

    // ---- the end

    /**
     * Begins the graceful end: waits until every reference is confirmed or has failed, releases every fork, and waits
     * until no worker has a fork of a value of this worker. The first wait takes at most half of the limit.
     */
    public void drain(Duration limit, Consumer<DrainReport> notified) {
        gate.run(() -> {
            Drain begun = new Drain(this, owners, users, sends, gate, notified);
            drain = begun;
            alarms.in(limit.toNanos() / 2, begun::onHalf);
            alarms.in(limit.toNanos(), begun::onLimit);
        });
    }

    /**
     * Ends the references abruptly: sends nothing more, closes every value, fails all waiters, and reports unreleased
     * references.
     */
    @Override
    public void close() {
        gate.run(() -> {
            if (!gate.isClosed()) {
                gate.close();
                sends.close();
                alarms.clear();
                users.close(listener);
                owners.close(listener);
            }
        });
    }

    /** Returns this incarnation of this worker. */
    public Holder self() {
        return self;
    }

    /** Returns the owner's epoch when the value was created, as far as this worker knows. */
    public int ownerEpoch(Reference reference) {
        gate.enter();
        try {
            return reference instanceof UserReference user ? user.ownerEpoch : self.epoch();
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
                owners.table().size(),
                owners.table().forks(),
                users.pending(),
                sends.size(),
                users.confirmed(),
                users.children(),
                owners.ignored() + users.ignored());
    }

    /** Returns the role of this worker for each fork. */
    public List<ReferenceStatus> statuses() {
        List<ReferenceStatus> statuses = new ArrayList<>();
        gate.run(() -> {
            owners.list(statuses::add);
            users.list(statuses::add);
        });
        return statuses;
    }

    /** Visits every value in the table, with its forks and their holders. */
    public void forEachFork(BiConsumer<OwnerReference, Map<ForkId, Holder>> look) {
        gate.run(() -> owners.table().all().forEach(entry -> look.accept(entry, Map.copyOf(entry.forks))));
    }

    Owners owners() {
        return owners;
    }
}
