package io.waybill.rref;

import io.waybill.api.CallException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The values of this worker, and who holds forks of them.
 *
 * <p>A value is in the table while somebody elsewhere may reach it: while there are forks, while it is being created, or while somebody
 * waits for its creation to begin. It is closed when it is in the table no more, no local handle is left and nobody reads it. What left
 * the table is remembered for a while, so that who comes too late is told instead of waiting.
 *
 * <p><b>Threads.</b> Guarded by the {@link Gate}.
 */
final class Owners {

    private static final long SWEEP_NS = 1_000_000_000;

    private final int self;
    private final int generation;
    private final Gate gate;
    private final Alarms alarms;
    private final Lives lives;
    private final Map<RRefId, OwnerReference> table = new LinkedHashMap<>();
    private final Set<OwnerReference> held = new LinkedHashSet<>();
    private final Set<OwnerReference> waited = new LinkedHashSet<>();
    /** Forks that were given back. A message that wants one of them to be made comes too late. */
    private final RecentIds<ForkId> endedForks;

    private final RecentIds<RRefId> endedRRefs;
    private int forks;
    private int awaited;
    private long ignored;

    Owners(int self, int generation, Gate gate, Alarms alarms, Lives lives, long memoryNs) {
        this.self = self;
        this.generation = generation;
        this.gate = gate;
        this.alarms = alarms;
        this.lives = lives;
        this.endedForks = new RecentIds<>(alarms, memoryNs);
        this.endedRRefs = new RecentIds<>(alarms, memoryNs);
    }

    // ---- making

    /** A value that is here, in a handle and not in the table. */
    OwnerReference own(RRefId id, KeptValue value, String type) {
        OwnerReference entry = new OwnerReference(self, id, type, OwnerReference.State.SETTLED);
        entry.value = value;
        entry.handles = 1;
        held.add(entry);
        return entry;
    }

    /** A value that this worker will make itself: a fork in its own name keeps it until then. */
    OwnerReference createHere(RRefId id, String type) {
        OwnerReference entry = put(id, type, OwnerReference.State.CREATING);
        entry.handles = 1;
        addFork(entry, ForkId.ofOwner(id), new Holder(self, generation));
        return entry;
    }

    /** A value of an earlier life, kept for those who had forks of it until they ask again. */
    OwnerReference restore(RRefId id, KeptValue value, String type, long forNs) {
        OwnerReference entry = put(id, type, OwnerReference.State.SETTLED);
        entry.value = value;
        ForkId own = ForkId.ofOwner(id);
        addFork(entry, own, new Holder(self, generation));
        alarms.in(forNs, () -> removeFork(entry, own));
        return entry;
    }

    /** A request to create a value is about to run. Its fork is known from now on, so that a delete finds it. */
    Begun begin(RRefId id, ForkId fork, Holder from, String type) {
        OwnerReference entry = table.get(id);
        if (entry != null && entry.state != OwnerReference.State.AWAITED) {
            if (fork.isOwnerOf(id) && entry.state == OwnerReference.State.CREATING && !entry.begunHere) {
                entry.begunHere = true;
                return Begun.RUN;
            }
            ignored++;
            if (!fork.isOwnerOf(id) && !endedForks.contains(fork)) {
                addFork(entry, fork, from); // it failed before its creation came
            }
            return Begun.KNOWN;
        }
        if (endedForks.contains(fork) || endedRRefs.contains(id) || lives.isOver(from)) {
            ignored++;
            return Begun.DELETED;
        }
        if (entry == null) {
            entry = put(id, type, OwnerReference.State.CREATING);
        } else {
            entry.state = OwnerReference.State.CREATING;
            awaited--;
        }
        addFork(entry, fork, from);
        return Begun.RUN;
    }

    void whenSettled(RRefId id, Runnable told) {
        OwnerReference entry = table.get(id);
        if (entry == null || entry.state == OwnerReference.State.SETTLED) {
            gate.later(told);
        } else {
            entry.whenSettled.add(told);
        }
    }

    /** The body is done. */
    void finish(RRefId id, KeptValue value, CallException failure) {
        OwnerReference entry = table.get(id);
        if (entry == null || entry.state != OwnerReference.State.CREATING) {
            ignored++;
            if (value != null) {
                gate.later(value::close);
            }
            return;
        }
        settle(entry, value, failure);
        removeFork(entry, ForkId.ofOwner(id));
        dropIfUnused(entry);
    }

    private void settle(OwnerReference entry, KeptValue value, CallException failure) {
        if (entry.state == OwnerReference.State.AWAITED) {
            awaited--;
        }
        entry.state = OwnerReference.State.SETTLED;
        entry.value = value;
        entry.failure = failure;
        waited.remove(entry);
        for (ValueWaiter waiter : entry.waiters) {
            answer(entry, waiter);
        }
        entry.waiters.clear();
        entry.whenSettled.forEach(gate::later);
        entry.whenSettled.clear();
    }

    // ---- reading

    /** Gives the value now, when it has come, or why there is none. */
    void fetch(RRefId id, int ownerGeneration, ValueWaiter waiter) {
        OwnerReference entry = table.get(id);
        if (entry == null) {
            CallException absent = absent(id, ownerGeneration);
            if (absent != null) {
                gate.later(() -> waiter.onFailure(absent));
                return;
            }
            entry = put(id, "", OwnerReference.State.AWAITED);
        }
        read(entry, waiter);
    }

    void read(OwnerReference entry, ValueWaiter waiter) {
        if (entry.state == OwnerReference.State.SETTLED) {
            answer(entry, waiter);
            return;
        }
        entry.waiters.add(waiter);
        if (waited.isEmpty()) {
            alarms.in(SWEEP_NS, this::sweep);
        }
        waited.add(entry);
    }

    private void answer(OwnerReference entry, ValueWaiter waiter) {
        CallException failure = entry.failure;
        if (failure != null) {
            gate.later(() -> waiter.onFailure(failure));
            return;
        }
        KeptValue value = entry.value;
        entry.readers++;
        gate.later(() -> {
            try {
                waiter.onValue(value);
            } finally {
                gate.run(() -> {
                    entry.readers--;
                    closeIfUnused(entry);
                });
            }
        });
    }

    /** Why a reference that is not in the table is not coming; null when it may come. */
    private CallException absent(RRefId id, int ownerGeneration) {
        if (endedRRefs.contains(id)) {
            return RRefErrors.gone(id, self);
        }
        if (ownerGeneration < generation) {
            return RRefErrors.ownerLost(id, self);
        }
        return id.createdOn() != self && lives.isDown(id.createdOn())
                ? RRefErrors.neverCreated(id, id.createdOn())
                : null;
    }

    /** Lets those go whose callers gave up. */
    private void sweep() {
        long nowNs = alarms.nowNs();
        for (OwnerReference entry : new ArrayList<>(waited)) {
            for (Iterator<ValueWaiter> each = entry.waiters.iterator(); each.hasNext(); ) {
                ValueWaiter waiter = each.next();
                if (waiter.deadlineNs() <= nowNs) {
                    each.remove();
                    gate.later(() -> waiter.onFailure(RRefErrors.waitedTooLong(entry.id())));
                }
            }
            if (entry.waiters.isEmpty()) {
                waited.remove(entry);
                dropIfUnused(entry);
            }
        }
        if (!waited.isEmpty()) {
            alarms.in(SWEEP_NS, this::sweep);
        }
    }

    // ---- forks

    /** Makes a fork for another worker, or for this one. It is known from now on: no message will ask for it. */
    void share(OwnerReference entry, ForkId fork, Holder to) {
        if (!entry.inTable) {
            table.put(entry.id(), entry);
            entry.inTable = true;
            endedRRefs.remove(entry.id());
        }
        addFork(entry, fork, to);
    }

    /** A fork came back, or was never taken. */
    void unshare(RRefId id, ForkId fork) {
        OwnerReference entry = table.get(id);
        if (entry != null) {
            removeFork(entry, fork);
        }
        endedForks.add(fork);
    }

    /**
     * Another worker asks for its fork to be known.
     *
     * @return why it can't be; null when it is
     */
    CallException forkRequest(ControlMessage request, Holder from) {
        OwnerReference entry = table.get(request.rref());
        if (lives.isOver(from)
                || endedForks.contains(request.fork())
                || entry != null && entry.forks.containsKey(request.fork())) {
            ignored++;
            return null;
        }
        if (entry == null) {
            CallException absent = absent(request.rref(), request.ownerGeneration());
            if (absent != null) {
                return absent;
            }
            entry = put(request.rref(), "", OwnerReference.State.AWAITED);
        }
        addFork(entry, request.fork(), from);
        return null;
    }

    /** Another worker gives its fork back. */
    void userDelete(ControlMessage delete) {
        endedForks.add(delete.fork());
        OwnerReference entry = table.get(delete.rref());
        CallException failure = delete.failure().orElse(null);
        if (entry == null) {
            ignored++;
            if (failure != null) {
                endedRRefs.add(delete.rref());
            }
            return;
        }
        if (failure != null && entry.state == OwnerReference.State.AWAITED) {
            settle(entry, null, failure);
        }
        if (!removeFork(entry, delete.fork())) {
            ignored++;
            dropIfUnused(entry);
        }
    }

    /** A handle of a value that others shared back to this worker. */
    OwnerReference take(ForkData data) {
        OwnerReference entry = table.get(data.rref());
        if (entry == null) {
            CallException absent = absent(data.rref(), data.ownerGeneration());
            entry = absent == null ? put(data.rref(), data.type(), OwnerReference.State.AWAITED) : failed(data, absent);
        }
        entry.handles++;
        held.add(entry);
        if (data.parent() == self) {
            unshare(data.rref(), data.fork());
        }
        return entry;
    }

    private static OwnerReference failed(ForkData data, CallException failure) {
        OwnerReference entry = new OwnerReference(data.owner(), data.rref(), data.type(), OwnerReference.State.SETTLED);
        entry.failure = failure;
        return entry;
    }

    /** Gives back what a worker held that died. @return how many forks */
    int release(Holder dead) {
        int released = 0;
        for (OwnerReference entry : new ArrayList<>(table.values())) {
            if (entry.state == OwnerReference.State.AWAITED
                    && entry.id().createdOn() == dead.worker()
                    && entry.creatorGeneration <= dead.generation()) {
                settle(entry, null, RRefErrors.neverCreated(entry.id(), dead.worker()));
            }
            for (Map.Entry<ForkId, Holder> fork : new HashMap<>(entry.forks).entrySet()) {
                if (fork.getValue().worker() == dead.worker()
                        && fork.getValue().generation() <= dead.generation()
                        && removeFork(entry, fork.getKey())) {
                    endedForks.add(fork.getKey());
                    released++;
                }
            }
            dropIfUnused(entry);
        }
        return released;
    }

    // ---- handles and ends

    void releaseHandle(OwnerReference entry) {
        entry.handles--;
        dropIfUnused(entry);
    }

    private OwnerReference put(RRefId id, String type, OwnerReference.State state) {
        OwnerReference entry = new OwnerReference(self, id, type, state);
        entry.inTable = true;
        table.put(id, entry);
        held.add(entry);
        if (state == OwnerReference.State.AWAITED) {
            awaited++;
            entry.creatorGeneration = lives.current(id.createdOn(), 0);
        }
        return entry;
    }

    private void addFork(OwnerReference entry, ForkId fork, Holder holder) {
        if (entry.forks.putIfAbsent(fork, holder) == null) {
            forks++;
        }
    }

    private boolean removeFork(OwnerReference entry, ForkId fork) {
        if (entry.forks.remove(fork) == null) {
            return false;
        }
        forks--;
        dropIfUnused(entry);
        return true;
    }

    private void dropIfUnused(OwnerReference entry) {
        if (entry.inTable && entry.forks.isEmpty() && isOver(entry)) {
            table.remove(entry.id());
            entry.inTable = false;
            if (entry.state == OwnerReference.State.AWAITED) {
                awaited--;
            } else {
                endedRRefs.add(entry.id());
            }
        }
        closeIfUnused(entry);
    }

    private static boolean isOver(OwnerReference entry) {
        return switch (entry.state) {
            case SETTLED -> true;
            case CREATING -> false;
            case AWAITED -> entry.handles == 0 && entry.waiters.isEmpty();
        };
    }

    private void closeIfUnused(OwnerReference entry) {
        if (!entry.inTable && entry.handles == 0 && entry.readers == 0) {
            held.remove(entry);
            close(entry);
        }
    }

    private void close(OwnerReference entry) {
        KeptValue value = entry.value;
        if (value != null) {
            entry.value = null;
            entry.failure = RRefErrors.gone(entry.id(), self);
            gate.later(value::close);
        }
    }

    // ---- the end of the worker

    /** Drops what only this worker could still reach. */
    void dropUnforked() {
        for (OwnerReference entry : new ArrayList<>(table.values())) {
            dropIfUnused(entry);
        }
    }

    /** Closes every value that nobody reads, and tells those who wait that none will come. */
    void close(ReferenceListener listener) {
        for (OwnerReference entry : new ArrayList<>(held)) {
            entry.forks.forEach((fork, holder) -> gate.later(() -> listener.onLeak(entry.id(), fork, holder)));
            if (entry.state != OwnerReference.State.SETTLED) {
                settle(entry, null, RRefErrors.closed());
            }
            entry.forks.clear();
            entry.handles = 0;
            entry.inTable = false;
            closeIfUnused(entry);
        }
        table.clear();
        waited.clear();
        forks = 0;
        awaited = 0;
    }

    boolean isEmpty() {
        return table.isEmpty();
    }

    OwnerReference find(RRefId id) {
        return table.get(id);
    }

    /** A line for each fork; one in the owner's own name for a value that nobody else has. */
    void list(Consumer<ReferenceStatus> lines) {
        for (OwnerReference entry : held) {
            if (entry.forks.isEmpty()) {
                lines.accept(status(entry, ForkId.ofOwner(entry.id()), new Holder(self, generation)));
            }
            entry.forks.forEach((fork, holder) -> lines.accept(status(entry, fork, holder)));
        }
    }

    private static ReferenceStatus status(OwnerReference entry, ForkId fork, Holder holder) {
        String state = entry.failure == null ? entry.state.name().toLowerCase(Locale.ROOT) : "failed";
        return new ReferenceStatus(
                ReferenceStatus.Part.OWNS, entry.id(), fork, holder, state, entry.handles, entry.type());
    }

    List<OwnerReference> all() {
        return List.copyOf(table.values());
    }

    int size() {
        return table.size() - awaited;
    }

    int forks() {
        return forks;
    }

    int waiting() {
        return waited.size();
    }

    int held() {
        return held.size();
    }

    long ignored() {
        return ignored;
    }
}
