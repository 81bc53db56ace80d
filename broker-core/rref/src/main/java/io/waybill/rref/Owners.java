package io.waybill.rref;

import io.waybill.api.CallException;
import io.waybill.rref.control.ControlMessage;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.id.ForkId;
import io.waybill.rref.id.RRefId;
import io.waybill.rref.status.Holder;
import io.waybill.rref.status.ReferenceListener;
import io.waybill.rref.status.ReferenceStatus;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Values of this worker, and the holders of their forks.
 *
 * <p>A value is in the table while another worker may reach it: while there are forks, while it is being created, or
 * while a caller waits for its creation to begin. It is closed when it is no longer in the table, no local handle is
 * left and no thread reads it. Removed ids are remembered for a limited time, so that a late caller gets an error
 * instead of waiting.
 *
 * <p><b>Threads.</b> Guarded by the {@link Gate}.
 */
final class Owners {

    private final int self;
    private final int epoch;
    private final Gate gate;
    private final Alarms alarms;
    private final Incarnations incarnations;
    private final OwnerTable table;
    private final OwnerReads reads;
    private long ignored;

    Owners(int self, int epoch, Gate gate, Alarms alarms, Incarnations incarnations, OwnerTable table) {
        this.self = self;
        this.epoch = epoch;
        this.gate = gate;
        this.alarms = alarms;
        this.incarnations = incarnations;
        this.table = table;
        this.reads = new OwnerReads(table, gate, alarms);
    }

    OwnerTable table() {
        return table;
    }

    OwnerReads reads() {
        return reads;
    }

    // ---- creation

    /** Creates a reference to a value that is here, in a handle and not in the table. */
    OwnerReference own(RRefId id, OwnedValue value, String type) {
        OwnerReference entry = new OwnerReference(self, id, type, OwnerReference.State.COMPLETED);
        entry.value = value;
        table.hold(entry);
        return entry;
    }

    /** Creates a reference to a value that this worker will make itself: a fork in its own name keeps it until then. */
    OwnerReference createHere(RRefId id, String type) {
        OwnerReference entry = table.put(id, type, OwnerReference.State.CREATING);
        entry.handles = 1;
        table.addFork(entry, ForkId.ofOwner(id), new Holder(self, epoch));
        return entry;
    }

    /**
     * Restores a value of an earlier incarnation, or the error of reading it, for the holders of its forks until they
     * claim them again.
     */
    OwnerReference restore(RRefId id, OwnedValue value, CallException failure, String type, long forNs) {
        OwnerReference entry = table.put(id, type, OwnerReference.State.COMPLETED);
        entry.value = value;
        entry.failure = failure;
        ForkId own = ForkId.ofOwner(id);
        table.addFork(entry, own, new Holder(self, epoch));
        alarms.in(forNs, () -> table.removeFork(entry, own));
        return entry;
    }

    /**
     * Notes that a request to create a value is about to run. Its fork is known from now on, so that a delete finds it.
     */
    CreationDecision begin(RRefId id, ForkId fork, Holder from, String type) {
        OwnerReference entry = table.find(id);
        if (entry != null && entry.state != OwnerReference.State.AWAITED) {
            if (fork.isOwnerOf(id) && entry.state == OwnerReference.State.CREATING && !entry.begunHere) {
                entry.begunHere = true;
                return CreationDecision.RUN;
            }
            ignored++;
            if (!fork.isOwnerOf(id) && !table.hasEnded(fork)) {
                table.addFork(entry, fork, from); // it failed before its creation request arrived
            }
            return CreationDecision.KNOWN;
        }
        if (table.hasEnded(fork) || table.hasEnded(id) || incarnations.isOver(from)) {
            ignored++;
            return CreationDecision.DELETED;
        }
        if (entry == null) {
            entry = table.put(id, type, OwnerReference.State.CREATING);
        } else {
            table.become(entry, OwnerReference.State.CREATING);
        }
        table.addFork(entry, fork, from);
        return CreationDecision.RUN;
    }

    void whenCompleted(RRefId id, Runnable notified) {
        OwnerReference entry = table.find(id);
        if (entry == null || entry.state == OwnerReference.State.COMPLETED) {
            gate.later(notified);
        } else {
            entry.whenCompleted.add(notified);
        }
    }

    /** Completes the creation of a value after its body. */
    void finish(RRefId id, OwnedValue value, CallException failure) {
        OwnerReference entry = table.find(id);
        if (entry == null || entry.state != OwnerReference.State.CREATING) {
            ignored++;
            if (value != null) {
                gate.later(value::close);
            }
            return;
        }
        reads.complete(entry, value, failure);
        table.removeFork(entry, ForkId.ofOwner(id));
        table.dropIfUnused(entry);
    }

    /** Fails a creation that this worker requested from itself. */
    void creationFailed(OwnerReference entry, CallException why) {
        CallException failure = RRefErrors.creationFailed(why);
        if (entry.state == OwnerReference.State.CREATING && failure != why) {
            entry.unusable = failure;
        }
        finish(entry.id(), null, failure);
    }

    // ---- forks

    /** Makes a fork for another worker, or for this one. The fork is registered at once: no message will request it. */
    void share(OwnerReference entry, ForkId fork, Holder to) {
        table.putBack(entry);
        table.addFork(entry, fork, to);
    }

    /** Removes a fork that was released, or never arrived. */
    void unshare(RRefId id, ForkId fork) {
        OwnerReference entry = table.find(id);
        if (entry != null) {
            table.removeFork(entry, fork);
        }
        table.ended(fork);
    }

    /**
     * Registers a fork on request of another worker.
     *
     * @return the error; null on success
     */
    CallException forkRequest(ControlMessage request, Holder from) {
        OwnerReference entry = table.find(request.rref());
        if (incarnations.isOver(from)
                || table.hasEnded(request.fork())
                || entry != null && entry.forks.containsKey(request.fork())) {
            ignored++;
            return null;
        }
        if (entry == null) {
            CallException absent = table.absent(request.rref(), request.ownerEpoch());
            if (absent != null) {
                return absent;
            }
            entry = table.put(request.rref(), "", OwnerReference.State.AWAITED);
        }
        table.addFork(entry, request.fork(), from);
        return null;
    }

    /** Releases a fork on request of another worker. */
    void userDelete(ControlMessage delete) {
        table.ended(delete.fork());
        OwnerReference entry = table.find(delete.rref());
        CallException failure = delete.failure().orElse(null);
        if (entry == null) {
            ignored++;
            if (failure != null) {
                table.ended(delete.rref());
            }
            return;
        }
        if (failure != null && entry.state == OwnerReference.State.AWAITED) {
            reads.complete(entry, null, failure);
        }
        if (!table.removeFork(entry, delete.fork())) {
            ignored++;
            table.dropIfUnused(entry);
        }
    }

    /** Returns a handle of a value that other workers shared back to this worker. */
    OwnerReference take(ForkData data) {
        OwnerReference entry = table.find(data.rref());
        if (entry == null) {
            CallException absent = table.absent(data.rref(), data.ownerEpoch());
            entry = absent == null
                    ? table.put(data.rref(), data.type(), OwnerReference.State.AWAITED)
                    : failed(data, absent);
        }
        table.hold(entry);
        if (data.parent() == self) {
            unshare(data.rref(), data.fork());
        }
        return entry;
    }

    /**
     * Returns a failed reference whose value is gone: it is not passed on, for the table would have it as a value that
     * was there.
     */
    private static OwnerReference failed(ForkData data, CallException failure) {
        OwnerReference entry =
                new OwnerReference(data.owner(), data.rref(), data.type(), OwnerReference.State.COMPLETED);
        entry.failure = failure;
        entry.unusable = failure;
        return entry;
    }

    /**
     * Releases the forks of a worker that has ended.
     *
     * @return number of forks
     */
    int release(Holder dead) {
        int released = 0;
        for (OwnerReference entry : table.all()) {
            if (entry.state == OwnerReference.State.AWAITED
                    && entry.id().createdOn() == dead.worker()
                    && entry.creatorEpoch <= dead.epoch()) {
                reads.complete(entry, null, RRefErrors.neverCreated(entry.id(), dead.worker()));
            }
            for (Map.Entry<ForkId, Holder> fork : new HashMap<>(entry.forks).entrySet()) {
                if (fork.getValue().worker() == dead.worker()
                        && fork.getValue().epoch() <= dead.epoch()
                        && table.removeFork(entry, fork.getKey())) {
                    table.ended(fork.getKey());
                    released++;
                }
            }
            table.dropIfUnused(entry);
        }
        return released;
    }

    // ---- handles and ends

    void releaseHandle(OwnerReference entry) {
        entry.handles--;
        table.dropIfUnused(entry);
    }

    // ---- the end of the worker

    /** Drops values that only this worker could still reach. */
    void dropUnforked() {
        for (OwnerReference entry : table.all()) {
            table.dropIfUnused(entry);
        }
    }

    /** Closes every value that no thread reads, and notifies the waiters that there will be no value. */
    void close(ReferenceListener listener) {
        int kept = 0;
        for (OwnerReference entry : table.allHeld()) {
            if (!entry.forks.isEmpty() && entry.value != null && entry.value.isKept()) {
                kept++;
            } else {
                reportLeaks(entry, listener);
            }
            if (entry.state != OwnerReference.State.COMPLETED) {
                reads.complete(entry, null, RRefErrors.closed());
            }
            entry.closesForNow = !entry.forks.isEmpty();
            entry.forks.clear();
            entry.handles = 0;
            entry.inTable = false;
            table.closeIfUnused(entry);
        }
        table.clear();
        reads.clear();
        int staying = kept;
        if (staying > 0) {
            gate.later(() -> listener.onKept(staying));
        }
    }

    private void reportLeaks(OwnerReference entry, ReferenceListener listener) {
        entry.forks.forEach((fork, holder) -> {
            if (holder.worker() != self) {
                ReferenceStatus leaked = status(entry, fork, holder);
                gate.later(() -> listener.onLeak(leaked));
            }
        });
    }

    /** Lists a status for each fork; one in the owner's own name for a value that no other worker has. */
    void list(Consumer<ReferenceStatus> lines) {
        for (OwnerReference entry : table.allHeld()) {
            if (entry.forks.isEmpty()) {
                lines.accept(status(entry, ForkId.ofOwner(entry.id()), new Holder(self, epoch)));
            }
            entry.forks.forEach((fork, holder) -> lines.accept(status(entry, fork, holder)));
        }
    }

    private static ReferenceStatus status(OwnerReference entry, ForkId fork, Holder holder) {
        String state = entry.failure == null ? entry.state.name().toLowerCase(Locale.ROOT) : "failed";
        boolean kept = entry.value != null && entry.value.isKept();
        return new ReferenceStatus(
                ReferenceStatus.Part.OWNS, entry.id(), fork, holder, state, entry.handles, kept, entry.type());
    }

    long ignored() {
        return ignored;
    }
}
