package io.waybill.rref;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.rref.control.ControlRetries;
import io.waybill.rref.id.RRefId;
import io.waybill.rref.status.Holder;
import java.time.Duration;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;

/** What all parts of a simulation share: its workers, its time, its dice, and what is known to have happened. */
final class SimulatedHome {
    static final int WORKERS = 4;
    static final long MS = 1_000_000;
    private static final RRefSettings SETTINGS = new RRefSettings(
            Duration.ofSeconds(10),
            Duration.ofSeconds(5),
            Duration.ofMinutes(2),
            new ControlRetries(5, Duration.ofSeconds(1), Duration.ofSeconds(10), Duration.ZERO),
            Keeping.ON_REQUEST);

    final Simulation.Mode mode;
    final SimulatedTime time = new SimulatedTime();
    final SimulatedWorker[] workers = new SimulatedWorker[WORKERS];
    final SimulatedNetwork network = new SimulatedNetwork(this);
    /** References whose creation reached its owner. */
    final Set<RRefId> begun = new HashSet<>();
    /** References that have a value or an error. */
    final Set<RRefId> finished = new HashSet<>();
    /** References whose creation failed. */
    final Set<RRefId> broken = new HashSet<>();

    private final Random random;
    boolean programsRun = true;
    long reads;
    long givenUp;
    long responded;
    long late;
    long holding;

    SimulatedHome(long seed, Simulation.Mode mode) {
        this.random = new Random(seed);
        this.mode = mode;
        for (int id = 0; id < WORKERS; id++) {
            workers[id] = begin(new Holder(id, 1), 0);
        }
        for (SimulatedWorker worker : workers) {
            for (SimulatedWorker other : workers) {
                worker.known.put(other.id(), other.self);
            }
        }
    }

    SimulatedWorker begin(Holder incarnation, long firstLocalId) {
        return new SimulatedWorker(incarnation, firstLocalId, SETTINGS, time, network);
    }

    /** That life of that worker; null when it is over. */
    SimulatedWorker live(Holder incarnation) {
        SimulatedWorker worker = workers[incarnation.worker()];
        return worker.alive && worker.self.equals(incarnation) ? worker : null;
    }

    /** One of twenty takes long. */
    long delay() {
        return chance(5) ? random.nextInt((int) (400 * MS)) : random.nextInt((int) (3 * MS));
    }

    boolean chance(int percent) {
        return random.nextInt(100) < percent;
    }

    int any(int bound) {
        return random.nextInt(bound);
    }

    /** Whether a reference that the worker has can be used; when not, its creation failed or its owner died. */
    boolean isUsable(SimulatedWorker at, Reference reference) {
        try {
            at.references.requireUsable(reference, "use");
            return true;
        } catch (CallException e) {
            requireAllowed(reference, e);
            givenUp++;
            return false;
        }
    }

    /** What somebody has a handle of is there, unless its creation failed or its owner died. */
    void requireAllowed(Reference reference, CallException why) {
        boolean gone = why.code() == ErrorCode.REFERENCE_DELETED || why.code() == ErrorCode.OWNER_LOST;
        if (gone && mode == Simulation.Mode.STEADY && !broken.contains(reference.id())) {
            throw new AssertionError(reference + " was used while a handle was open: " + why.getMessage());
        }
    }

    static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }
}
