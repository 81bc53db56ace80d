package io.waybill.rref;

import io.waybill.rref.id.RRefId;
import java.util.List;

/** A value that knows whether it was closed, and complains when it is closed twice or read afterwards. It may hold references. */
final class SimulatedValue implements OwnedValue {
    private final RRefId id;
    private final boolean kept;
    private final SimulatedWorker owner; // null for one that holds nothing
    private final List<Reference> held;
    private boolean closed;
    private boolean forgotten;

    SimulatedValue(RRefId id) {
        this(id, false, null, List.of());
    }

    /** Holds the references, of which the owner has handles. */
    SimulatedValue(RRefId id, SimulatedWorker owner, List<Reference> held) {
        this(id, false, owner, held);
        held.forEach(owner.references::retainInValue);
    }

    private SimulatedValue(RRefId id, boolean kept, SimulatedWorker owner, List<Reference> held) {
        this.id = id;
        this.kept = kept;
        this.owner = owner;
        this.held = List.copyOf(held);
    }

    /** One that is on the disk too. */
    static SimulatedValue kept() {
        return new SimulatedValue(null, true, null, List.of());
    }

    void read(RRefId wanted) {
        if (closed) {
            throw new AssertionError("the value of " + id + " was read after it was closed");
        }
        if (wanted != null && id != null && !id.equals(wanted)) {
            throw new AssertionError("the value of " + id + " was given for " + wanted);
        }
    }

    List<Reference> held() {
        return held;
    }

    boolean isClosed() {
        return closed;
    }

    boolean isForgotten() {
        return forgotten;
    }

    @Override
    public boolean isKept() {
        return kept;
    }

    @Override
    public void close() {
        closeForNow();
        forgotten = true;
    }

    @Override
    public void closeForNow() {
        if (closed) {
            throw new AssertionError("the value of " + id + " was closed twice");
        }
        closed = true;
        if (!held.isEmpty()) {
            owner.holding.remove(this);
            held.forEach(owner.references::releaseFromValue);
        }
    }
}
