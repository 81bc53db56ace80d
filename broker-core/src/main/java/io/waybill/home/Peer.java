package io.waybill.home;

import io.waybill.api.WorkerInfo;
import io.waybill.host.Liveness;
import java.nio.file.Path;
import java.util.Optional;

/**
 * A worker of the home as one scan found it; the scanning worker itself is among them. Immutable.
 *
 * <p>All it says was said by that worker, but for {@link #state()}'s {@link PeerState#DEAD} and {@link #liveness()}.
 */
public final class Peer {
    private final WorkerInfo info;
    private final Path path;
    private final PeerState state;
    private final Liveness liveness;
    private final WorkerRecord record; // null when it does not read
    private final String problem;

    Peer(WorkerInfo info, Path path, PeerState state, Liveness liveness, WorkerRecord record, String problem) {
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

    /** Its directory. */
    public Path path() {
        return path;
    }

    public PeerState state() {
        return state;
    }

    /** {@link Liveness#UNKNOWN} for one whose process can't be seen from here. */
    public Liveness liveness() {
        return liveness;
    }

    /** What it says of itself; empty when {@link PeerState#UNREADABLE}. */
    public Optional<WorkerRecord> record() {
        return Optional.ofNullable(record);
    }

    /** Tells one incarnation of the name from the next; 0 when {@link PeerState#UNREADABLE}. */
    public long epoch() {
        return record == null ? 0 : record.epoch();
    }

    /** Why it does not read; empty text when it does. */
    public String problem() {
        return problem;
    }

    @Override
    public String toString() {
        return info.name() + " (id " + info.id() + ", " + state + ")";
    }
}
