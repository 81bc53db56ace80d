package io.waybill.home;

import io.waybill.api.WorkerInfo;
import io.waybill.home.cursor.FileStamp;
import io.waybill.home.error.MalformedHomeFileException;
import io.waybill.host.ChangeWatch;
import io.waybill.host.Host;
import io.waybill.host.Liveness;
import io.waybill.host.ProcessIdentity;
import io.waybill.host.ProcessWatch;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

/** State of one worker between two scans of {@link Membership}. Belongs to the housekeeping thread. */
final class KnownWorker {
    private final WorkerInfo info;
    private final Path directory;
    private final Path file;
    private final Claims claims;
    private final Host host;

    private FileStamp stamp; // null before the first read, and while the file can't be read
    private boolean tooYoung;
    private WorkerRecord record; // null while there is none that can be read
    private ReadProblem problem = ReadProblem.NONE;
    private Liveness liveness = Liveness.UNKNOWN;
    // both null unless the worker is there
    private ProcessIdentity watched;
    private ProcessWatch watch;
    private ChangeWatch changes; // null when no thread waits for changes
    private boolean announced; // whether the end of the process ends waits

    KnownWorker(WorkerInfo info, Path directory, Claims claims, Host host) {
        this.info = info;
        this.directory = directory;
        this.file = directory.resolve(WorkerDirectory.RECORD_FILE);
        this.claims = claims;
        this.host = host;
    }

    /** Returns whether the worker claims to be present and is not known to be dead. */
    boolean isThere() {
        return watch != null;
    }

    /** Makes the end of the process end waits of {@code watching}. */
    void changesEnd(ChangeWatch watching) {
        changes = watching;
        announced = watch != null && watch.endsWaitsOf(changes);
    }

    /** Returns whether the liveness of the process must be polled. */
    boolean mustBeAsked() {
        return watch != null && !announced;
    }

    /** Returns whether the worker was never read, or could not be read the last time. */
    boolean isUnseen() {
        return stamp == null;
    }

    /**
     * Reads {@code worker.json}, which may have changed more than its stamp shows. Returns whether anything changed.
     */
    boolean lookAfterChange() {
        stamp = null;
        return look(0);
    }

    /** Reads {@code worker.json} when its stamp changed. Returns whether anything changed. */
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
            if (record != null && found.equals(record)) {
                return false;
            }
            requireConsistent(found);
            record = found;
            problem = ReadProblem.NONE;
            watchProcess();
            return true;
        } catch (NoSuchFileException e) {
            return forget();
        } catch (IOException e) {
            return unreadable(e);
        }
    }

    private void requireConsistent(WorkerRecord found) throws IOException {
        if (found.id() != info.id() || !found.name().equals(info.name())) {
            throw new MalformedHomeFileException(file + ": expected the record of " + info + ", found that of "
                    + new WorkerInfo(found.id(), found.name()));
        }
        if (found.process().uid() != host.files().owner()) {
            throw new MalformedHomeFileException(file + ": expected a process of uid "
                    + host.files().owner() + ", found uid " + found.process().uid());
        }
        if (record == null && !claims.idOf(info.name()).equals(Optional.of(info.id()))) {
            throw new MalformedHomeFileException(file + ": no worker claimed id " + info.id() + " for this name");
        }
    }

    private boolean forget() {
        boolean changed = record != null || !problem.isNone();
        unwatch();
        record = null;
        problem = ReadProblem.NONE;
        return changed;
    }

    private boolean unreadable(IOException e) {
        stamp = null; // the cause may pass, such as a lack of descriptors
        ReadProblem found = ReadProblem.of(e);
        if (found.isOwn() && record != null) {
            return false; // what was read before still describes the worker
        }
        boolean changed = record != null || !found.equals(problem);
        unwatch();
        record = null;
        problem = found;
        return changed;
    }

    private void watchProcess() {
        if (record.state() == WorkerState.LEFT) {
            unwatch();
            liveness = Liveness.UNKNOWN;
        } else if (watch == null || !record.process().equals(watched)) {
            unwatch();
            watched = record.process();
            watch = host.processes().watch(watched);
            announced = changes != null && watch.endsWaitsOf(changes);
            liveness = watch.liveness();
        }
    }

    private void unwatch() {
        if (watch != null) {
            watch.close();
            watch = null;
            watched = null;
        }
    }

    /** Checks whether the process is alive. Returns whether that changed. */
    boolean checkLiveness() {
        Liveness now = watch.liveness();
        boolean changed = now != liveness;
        liveness = now;
        if (now == Liveness.DEAD) {
            unwatch(); // a process does not come alive again
        }
        return changed;
    }

    /** Releases the resources; the worker may still be queried. */
    void close() {
        unwatch();
    }

    /** Converts the worker to a peer; empty while it has not yet published anything. */
    Optional<Peer> toPeer() {
        if (record == null && problem.isNone()) {
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
