package io.waybill.home;

import io.waybill.api.WorkerInfo;
import io.waybill.host.Liveness;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Worker of the home as found by one scan; includes the scanning worker itself. Immutable.
 *
 * <p>All values are claims of that worker, except {@link PeerState#DEAD} in {@link #state()}, and {@link #liveness()}.
 */
public final class Peer {
    private final WorkerInfo info;
    private final Path path;
    private final PeerState state;
    private final Liveness liveness;
    private final WorkerRecord record; // null when it can't be read
    private final ReadProblem problem;

    Peer(WorkerInfo info, Path path, PeerState state, Liveness liveness, WorkerRecord record, ReadProblem problem) {
        this.info = info;
        this.path = path;
        this.state = state;
        this.liveness = liveness;
        this.record = record;
        this.problem = problem;
    }

    public int id() {
        return info.id();
    }

    public String name() {
        return info.name();
    }

    public WorkerInfo info() {
        return info;
    }

    /** Returns the worker's directory. */
    public Path path() {
        return path;
    }

    public PeerState state() {
        return state;
    }

    /** Returns the liveness of the worker's process; {@link Liveness#UNKNOWN} when it can't be seen from here. */
    public Liveness liveness() {
        return liveness;
    }

    /** Returns the published record; empty when {@link PeerState#UNREADABLE}. */
    public Optional<WorkerRecord> record() {
        return Optional.ofNullable(record);
    }

    /** Returns the epoch, which identifies an incarnation of the name; 0 when {@link PeerState#UNREADABLE}. */
    public long epoch() {
        return record == null ? 0 : record.epoch();
    }

    /**
     * Returns the epoch of the first incarnation whose requests this one runs if they were not begun; its own epoch
     * when it continues none.
     */
    public long firstEpoch() {
        return record == null ? 0 : Succession.firstEpochOf(record);
    }

    /**
     * Returns the time until which a worker that has left may be succeeded, on CLOCK_BOOTTIME; 0 for not at all, or if
     * it is there.
     */
    public long succeededUntilNs() {
        return record == null ? 0 : Succession.until(record);
    }

    /** Returns why the worker can't be read; empty text when it can. */
    public String problem() {
        return problem.text();
    }

    /** Returns why the worker can't be read; {@link ReadProblem#NONE} when it can. */
    public ReadProblem readProblem() {
        return problem;
    }

    @Override
    public String toString() {
        return info.name() + " (id " + info.id() + ", " + state + ")";
    }
}
