package io.waybill.home;

import io.waybill.api.WorkerInfo;
import io.waybill.host.Host;
import io.waybill.host.Liveness;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

/** What {@link Membership} remembers of one worker between two looks. Belongs to the housekeeping thread. */
final class KnownWorker {
    private final WorkerInfo info;
    private final Path directory;
    private final Path file;
    private final Claims claims;
    private final Host host;

    private FileStamp stamp = FileStamp.MISSING;
    private boolean tooYoung;
    private WorkerRecord record; // null while there is none that reads
    private String problem = "";
    private Liveness liveness = Liveness.UNKNOWN;
    private long livenessAskedAtNs;

    KnownWorker(WorkerInfo info, Path directory, Claims claims, Host host) {
        this.info = info;
        this.directory = directory;
        this.file = directory.resolve(WorkerDirectory.RECORD_FILE);
        this.claims = claims;
        this.host = host;
    }

    /** Whether it says so and is not known to be dead. */
    boolean isThere() {
        return record != null && record.state() != WorkerState.LEFT && liveness != Liveness.DEAD;
    }

    /** Reads {@code worker.json} when it changed. Returns whether anything did. */
    boolean look(long wallNs) {
        try {
            FileStamp now = FileStamp.of(file);
            if (!tooYoung && now.equals(stamp)) {
                return false;
            }
            stamp = now;
            tooYoung = now != FileStamp.MISSING && now.isTooYoung(wallNs);
            return read();
        } catch (IOException e) {
            return unreadable(e);
        }
    }

    private boolean read() {
        try {
            if (stamp.equals(FileStamp.MISSING)) {
                return forget();
            }
            WorkerRecord found = WorkerRecordJson.read(host.files().readSmall(file, WorkerRecordJson.MAX_BYTES), file);
            if (found.equals(record)) {
                return false;
            }
            requireConsistent(found);
            record = found;
            problem = "";
            liveness = found.state() == WorkerState.LEFT
                    ? Liveness.UNKNOWN
                    : host.processes().liveness(found.process());
            livenessAskedAtNs = host.clock().monotonicNs();
            return true;
        } catch (NoSuchFileException e) {
            return forget();
        } catch (IOException e) {
            return unreadable(e);
        }
    }

    private void requireConsistent(WorkerRecord found) throws IOException {
        if (found.id() != info.id() || !found.name().equals(info.name())) {
            throw new MalformedRecordException(file + ": expected the record of " + info + ", found that of "
                    + new WorkerInfo(found.id(), found.name()));
        }
        if (found.process().uid() != host.files().owner()) {
            throw new MalformedRecordException(file + ": expected a process of uid "
                    + host.files().owner() + ", found uid " + found.process().uid());
        }
        if (record == null && !claims.idOf(info.name()).equals(Optional.of(info.id()))) {
            throw new MalformedRecordException(file + ": nobody claimed id " + info.id() + " for this name");
        }
    }

    private boolean forget() {
        boolean changed = record != null || !problem.isEmpty();
        record = null;
        problem = "";
        return changed;
    }

    private boolean unreadable(IOException e) {
        String text = String.valueOf(e.getMessage());
        boolean changed = record != null || !text.equals(problem);
        record = null;
        problem = text;
        return changed;
    }

    boolean isLivenessDue(long nowNs, long intervalNs) {
        return nowNs - livenessAskedAtNs >= intervalNs;
    }

    /** Asks whether its process lives. Returns whether that changed. */
    boolean checkLiveness(long nowNs) {
        livenessAskedAtNs = nowNs;
        Liveness now = host.processes().liveness(record.process());
        boolean changed = now != liveness;
        liveness = now;
        return changed;
    }

    /** Empty while it has not yet said anything. */
    Optional<Peer> toPeer() {
        if (record == null && problem.isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(new Peer(info, directory, state(), liveness, record, problem));
    }

    private PeerState state() {
        if (record == null) {
            return PeerState.UNREADABLE;
        }
        if (record.state() == WorkerState.LEFT) {
            return PeerState.LEFT;
        }
        if (liveness == Liveness.DEAD) {
            return PeerState.DEAD;
        }
        return record.state() == WorkerState.READY ? PeerState.READY : PeerState.STARTING;
    }
}
