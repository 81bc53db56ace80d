package io.waybill.rref;

import io.waybill.api.CallException;
import io.waybill.rref.id.RRefId;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * Readers of this worker's values: they get a value now, or once it has been created.
 *
 * <p><b>Threads.</b> Guarded by the {@link Gate}; waiters are called without it.
 */
final class OwnerReads {

    private static final long SWEEP_NS = 1_000_000_000;

    private final OwnerTable table;
    private final Gate gate;
    private final Alarms alarms;
    private final Set<OwnerReference> waited = new LinkedHashSet<>();

    OwnerReads(OwnerTable table, Gate gate, Alarms alarms) {
        this.table = table;
        this.gate = gate;
        this.alarms = alarms;
    }

    /** Passes the value to a waiter if it was created, or the error if there is no value. */
    void fetch(RRefId id, int ownerEpoch, ValueWaiter waiter) {
        OwnerReference entry = table.find(id);
        if (entry == null) {
            CallException absent = table.absent(id, ownerEpoch);
            if (absent != null) {
                gate.later(() -> waiter.onFailure(absent));
                return;
            }
            entry = table.put(id, "", OwnerReference.State.AWAITED);
        }
        read(entry, waiter);
    }

    void read(OwnerReference entry, ValueWaiter waiter) {
        if (entry.state == OwnerReference.State.COMPLETED) {
            respond(entry, waiter);
            return;
        }
        entry.waiters.add(waiter);
        if (waited.isEmpty()) {
            alarms.in(SWEEP_NS, this::sweep);
        }
        waited.add(entry);
    }

    private void respond(OwnerReference entry, ValueWaiter waiter) {
        CallException failure = entry.failure;
        if (failure != null) {
            gate.later(() -> waiter.onFailure(failure));
            return;
        }
        OwnedValue value = entry.value;
        entry.readers++;
        gate.later(() -> {
            try {
                waiter.onValue(value);
            } finally {
                gate.run(() -> {
                    entry.readers--;
                    table.closeIfUnused(entry);
                });
            }
        });
    }

    /** Drops waiters whose callers abandoned the wait. */
    private void sweep() {
        long nowNs = alarms.nowNs();
        for (OwnerReference entry : new ArrayList<>(waited)) {
            for (Iterator<ValueWaiter> each = entry.waiters.iterator(); each.hasNext(); ) {
                ValueWaiter waiter = each.next();
                if (waiter.deadlineNs() <= nowNs) {
                    each.remove();
                    gate.later(() -> waiter.onTooLate(entry.id()));
                }
            }
            if (entry.waiters.isEmpty()) {
                waited.remove(entry);
                table.dropIfUnused(entry);
            }
        }
        if (!waited.isEmpty()) {
            alarms.in(SWEEP_NS, this::sweep);
        }
    }

    /** Completes a value, or fails it. */
    void complete(OwnerReference entry, OwnedValue value, CallException failure) {
        table.become(entry, OwnerReference.State.COMPLETED);
        entry.value = value;
        entry.failure = failure;
        waited.remove(entry);
        for (ValueWaiter waiter : entry.waiters) {
            respond(entry, waiter);
        }
        entry.waiters.clear();
        entry.whenCompleted.forEach(gate::later);
        entry.whenCompleted.clear();
    }

    /** Removes all waiters after they were notified. */
    void clear() {
        waited.clear();
    }

    int waiting() {
        return waited.size();
    }
}
