package io.waybill.rref;

import io.waybill.rref.control.ControlMessage;
import io.waybill.rref.id.RRefId;
import io.waybill.rref.status.Holder;
import io.waybill.rref.status.ReferenceListener;
import io.waybill.rref.status.ReferenceStatus;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** One life of a worker in the simulation: its references, the handles that its program holds, and whom it knows. */
final class SimulatedWorker implements ReferenceListener {
    private static final int MAX_HANDLES = 12;

    final Holder self;
    final References references;
    final List<Reference> handles = new ArrayList<>();
    final Set<SimulatedCall> calls = new LinkedHashSet<>();
    final List<SimulatedValue> values = new ArrayList<>();
    /** Open values that hold references. */
    final Set<SimulatedValue> holding = new LinkedHashSet<>();
    /** Requests and responses whose references are in use. */
    final Set<Arrival> reading = new LinkedHashSet<>();

    final List<UserReference> made = new ArrayList<>();
    /** The life of each other worker that it believes to run; none for one that is down. */
    final Map<Integer, Holder> known = new HashMap<>();

    boolean alive = true;
    long nextLocalId;
    int releasedForDead;

    SimulatedWorker(
            Holder self, long firstLocalId, RRefSettings settings, SimulatedTime time, SimulatedNetwork network) {
        this.self = self;
        this.nextLocalId = firstLocalId;
        this.references = new References(
                self,
                firstLocalId,
                settings,
                time,
                (message, to, outcome) -> network.control(this, message, to, outcome),
                this);
    }

    int id() {
        return self.worker();
    }

    boolean hasRoom() {
        return handles.size() < MAX_HANDLES;
    }

    /** A value that holds references, of which this worker has handles. */
    SimulatedValue value(RRefId id, List<Reference> held) {
        SimulatedValue value = new SimulatedValue(id, this, held);
        values.add(value);
        if (!held.isEmpty()) {
            holding.add(value);
        }
        return value;
    }

    @Override
    public void onReleasedForDead(Holder dead, int forks) {
        releasedForDead += forks;
    }

    @Override
    public void onOverdue(ControlMessage message, int to, String why) {}

    @Override
    public void onLeak(ReferenceStatus leaked) {
        throw new AssertionError("a leak: " + leaked);
    }

    @Override
    public void onKept(int values) {
        throw new AssertionError("values are kept: " + values);
    }

    @Override
    public String toString() {
        return "worker " + self.worker() + " in life " + self.epoch();
    }
}
