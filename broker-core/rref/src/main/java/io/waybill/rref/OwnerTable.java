package io.waybill.rref;

import io.waybill.api.CallException;
import io.waybill.rref.id.ForkId;
import io.waybill.rref.id.RRefId;
import io.waybill.rref.status.Holder;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Table of the values of this worker with their known forks, which decides when each value goes.
 *
 * <p>A value is in the table while others may reach it, or will; it is held while it is in the table, in a handle, or
 * being read.
 *
 * <p><b>Threads.</b> Guarded by the {@link Gate}.
 */
final class OwnerTable {

    private final int self;
    private final int epoch;
    private final Gate gate;
    private final Incarnations incarnations;
    private final Map<RRefId, OwnerReference> table = new LinkedHashMap<>();
    private final Set<OwnerReference> held = new LinkedHashSet<>();
    /** Forks that were released. A message that would create one of them is late. */
    private final RecentIds<ForkId> endedForks;

    private final RecentIds<RRefId> endedRRefs;
    private int forks;
    private int awaited;

    OwnerTable(int self, int epoch, Gate gate, Alarms alarms, Incarnations incarnations, long memoryNs) {
        this.self = self;
        this.epoch = epoch;
        this.gate = gate;
        this.incarnations = incarnations;
        this.endedForks = new RecentIds<>(alarms, memoryNs);
        this.endedRRefs = new RecentIds<>(alarms, memoryNs);
    }

    // ---- values

    /** Returns the entry with this id; null when there is none. */
    OwnerReference find(RRefId id) {
        return table.get(id);
    }

    OwnerReference put(RRefId id, String type, OwnerReference.State state) {
        OwnerReference entry = new OwnerReference(self, id, type, state);
        entry.inTable = true;
        table.put(id, entry);
        held.add(entry);
        if (state == OwnerReference.State.AWAITED) {
            awaited++;
            entry.creatorEpoch = incarnations.current(id.createdOn(), 0);
        }
        return entry;
    }

    /** Adds a value again that only handles had. */
    void putBack(OwnerReference entry) {
        if (!entry.inTable) {
            table.put(entry.id(), entry);
            entry.inTable = true;
            endedRRefs.remove(entry.id());
        }
    }

    /** Notes that a handle holds the entry. */
    void hold(OwnerReference entry) {
        entry.handles++;
        held.add(entry);
    }

    /** Changes the state of an entry, and the count of awaited ones. */
    void become(OwnerReference entry, OwnerReference.State state) {
        if (entry.state == OwnerReference.State.AWAITED) {
            awaited--;
        }
        entry.state = state;
    }

    /** Returns why a reference that is not in the table is not coming; null when it may come. */
    CallException absent(RRefId id, int ownerEpoch) {
        if (endedRRefs.contains(id)) {
            return RRefErrors.gone(id, self);
        }
        if (ownerEpoch < epoch) {
            return RRefErrors.ownerLost(id, self);
        }
        return id.createdOn() != self && incarnations.isDown(id.createdOn())
                ? RRefErrors.neverCreated(id, id.createdOn())
                : null;
    }

    boolean hasEnded(RRefId id) {
        return endedRRefs.contains(id);
    }

    /** Notes the end of a reference that was not in the table. */
    void ended(RRefId id) {
        endedRRefs.add(id);
    }

    // ---- forks

    void addFork(OwnerReference entry, ForkId fork, Holder holder) {
        if (entry.forks.putIfAbsent(fork, holder) == null) {
            forks++;
        }
    }

    /**
     * Removes a fork of an entry.
     *
     * @return whether it was there
     */
    boolean removeFork(OwnerReference entry, ForkId fork) {
        if (entry.forks.remove(fork) == null) {
            return false;
        }
        forks--;
        dropIfUnused(entry);
        return true;
    }

    boolean hasEnded(ForkId fork) {
        return endedForks.contains(fork);
    }

    void ended(ForkId fork) {
        endedForks.add(fork);
    }

    // ---- ends

    void dropIfUnused(OwnerReference entry) {
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
            case COMPLETED -> true;
            case CREATING -> false;
            case AWAITED -> entry.handles == 0 && entry.waiters.isEmpty();
        };
    }

    void closeIfUnused(OwnerReference entry) {
        if (!entry.inTable && entry.handles == 0 && entry.readers == 0) {
            held.remove(entry);
            close(entry);
        }
    }

    private void close(OwnerReference entry) {
        OwnedValue value = entry.value;
        if (value != null) {
            entry.value = null;
            entry.failure = RRefErrors.gone(entry.id(), self);
            gate.later(entry.closesForNow ? value::closeForNow : value::close);
        }
    }

    /** Removes everything, regardless of the worker that has it. */
    void clear() {
        table.clear();
        forks = 0;
        awaited = 0;
    }

    // ---- contents

    /** Returns a copy of the entries in the table. */
    List<OwnerReference> all() {
        return List.copyOf(table.values());
    }

    /** Returns a copy of the entries in the table, in handles or being read. */
    List<OwnerReference> allHeld() {
        return List.copyOf(held);
    }

    boolean isEmpty() {
        return table.isEmpty();
    }

    int size() {
        return table.size() - awaited;
    }

    int forks() {
        return forks;
    }

    int held() {
        return held.size();
    }
}
