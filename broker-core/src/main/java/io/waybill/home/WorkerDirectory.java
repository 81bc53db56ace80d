package io.waybill.home;

import io.waybill.api.WorkerInfo;
import io.waybill.home.JoinOptions.Unseen;
import io.waybill.home.cursor.Cursors;
import io.waybill.home.error.MalformedHomeFileException;
import io.waybill.home.error.NameTakenException;
import io.waybill.host.DirectoryTree;
import io.waybill.host.Host;
import io.waybill.host.Liveness;
import io.waybill.host.ProcessIdentity;
import io.waybill.host.SafeFiles;
import io.waybill.host.failure.CloseSteps;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A worker's own directory in a home, from join to leave: its name and id, its {@code worker.json}, cursors, doorbell
 * and first contacts.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> The one that joined leaves or closes; doing so again does nothing. The directory
 * and the claim stay for the next one of this name.
 */
public final class WorkerDirectory implements AutoCloseable {

    /** The name of the subdirectory with the tensor segments. */
    public static final String SEGMENTS = "segments";

    static final String RECORD_FILE = WorkerRecord.FILE;

    private static final Logger LOG = LoggerFactory.getLogger(WorkerDirectory.class);
    private static final long LOCK_RETRY_NS = 2_000_000;

    private final Home home;
    private final WorkerInfo info;
    private final Path path;
    private final OwnerLock lock;
    private final Optional<WorkerRecord> previous;
    private final Cursors cursors;
    private final Doorbell doorbell;
    private final Contacts contacts;
    private final FormerId former;
    private WorkerRecord record;
    private boolean left;
    private boolean isNew;

    private WorkerDirectory(
            Home home,
            WorkerInfo info,
            OwnerLock lock,
            Optional<WorkerRecord> previous,
            Cursors cursors,
            Doorbell doorbell,
            Contacts contacts,
            WorkerRecord record,
            FormerId former) {
        this.home = home;
        this.info = info;
        this.path = home.workerPath(info);
        this.lock = lock;
        this.previous = previous;
        this.cursors = cursors;
        this.doorbell = doorbell;
        this.contacts = contacts;
        this.record = record;
        this.former = former;
    }

    /** Takes over the directory of a claimed name; empty when the name was removed meanwhile. */
    static Optional<WorkerDirectory> join(Home home, WorkerInfo info, JoinOptions options) throws IOException {
        Host host = home.host();
        SafeFiles files = host.files();
        Path path = home.workerPath(info);
        OwnerLock lock;
        try {
            files.createPrivateDirectory(path);
            lock = takeLock(home, info, path, options);
        } catch (NoSuchFileException e) {
            if (home.claims().isClaimed(info)) {
                throw e;
            }
            return Optional.empty();
        }
        Cursors cursors = null;
        Doorbell doorbell = null;
        Contacts contacts = null;
        try {
            if (!home.claims().isClaimed(info)) { // a process that removes a name has the lock meanwhile
                if (readOwnRecord(path, files).isEmpty()) { // made by this join
                    DirectoryTree.remove(path);
                }
                lock.close();
                return Optional.empty();
            }
            Optional<WorkerRecord> previous = readOwnRecord(path, files);
            if (previous.isPresent()) {
                requireGone(home, info, previous.get(), options);
            }
            cursors = Cursors.openOwn(path, info.id(), host);
            long last = Math.max(lock.epoch(), previous.map(WorkerRecord::epoch).orElse(0L));
            if (last == 0) { // both files are missing, or never existed
                last = cursors.epoch();
            }
            FormerId former = home.claims().beginOf(info.id());
            long epoch = Math.max(last, former.epoch()) + 1;
            doorbell = Doorbell.openOwn(path, files);
            contacts = Contacts.openOwn(path, files);
            lock.writeEpoch(epoch);
            WorkerRecord record = new WorkerRecord(
                    info.id(),
                    info.name(),
                    WorkerState.STARTING,
                    host.processes().self(),
                    TimeUnit.NANOSECONDS.toMillis(host.clock().wallNs()),
                    options.version(),
                    Runtime.version().toString(),
                    epoch,
                    List.of(),
                    List.of(),
                    options.published());
            WorkerDirectory joined =
                    new WorkerDirectory(home, info, lock, previous, cursors, doorbell, contacts, record, former);
            joined.write(record);
            return Optional.of(joined);
        } catch (IOException | RuntimeException | Error e) {
            CloseSteps steps = new CloseSteps();
            closeAll(steps, cursors, doorbell, contacts, lock);
            steps.suppressIn(e);
            throw e;
        }
    }

    private static void closeAll(
            CloseSteps steps, Cursors cursors, Doorbell doorbell, Contacts contacts, OwnerLock lock) {
        if (contacts != null) {
            steps.attempt(contacts::close);
        }
        if (doorbell != null) {
            steps.attempt(doorbell::close);
        }
        if (cursors != null) {
            steps.attempt(cursors::close);
        }
        steps.attempt(lock::close);
    }

    /** Takes the lock; waits briefly for a holder that has ended or is leaving, but not for a live one. */
    private static OwnerLock takeLock(Home home, WorkerInfo info, Path path, JoinOptions options) throws IOException {
        Host host = home.host();
        long giveUpAt = host.clock().monotonicNs() + options.lockWaitNs();
        while (true) {
            Optional<OwnerLock> lock = OwnerLock.take(path, host.files());
            if (lock.isPresent()) {
                return lock.get();
            }
            Optional<WorkerRecord> holder = readOwnRecord(path, host.files());
            if (holder.isPresent() && isStaying(holder.get(), host)) {
                throw taken(home, info, holder.get(), "");
            }
            if (host.clock().monotonicNs() - giveUpAt >= 0) {
                throw new NameTakenException(
                        info.name(),
                        0,
                        describe(home, info) + " is taken: another process holds " + path.resolve("lock/owner")
                                + " and has not said who it is");
            }
            host.threads().pause(LOCK_RETRY_NS);
        }
    }

    private static boolean isStaying(WorkerRecord holder, Host host) {
        return holder.state() != WorkerState.LEFT && host.processes().liveness(holder.process()) != Liveness.DEAD;
    }

    /** Checks, with the lock held, that the previous holder has really ended. */
    private static void requireGone(Home home, WorkerInfo info, WorkerRecord last, JoinOptions options)
            throws NameTakenException {
        if (last.state() == WorkerState.LEFT) {
            return;
        }
        Host host = home.host();
        ProcessIdentity process = last.process();
        if (process.equals(host.processes().self())) {
            return; // joined from this very process, which has the lock now: that one was closed
        }
        switch (host.processes().liveness(process)) {
            case DEAD ->
                LOG.info(
                        "{}: pid {} died without leaving; taking over its journal",
                        describe(home, info),
                        process.pid());
            case ALIVE -> throw taken(home, info, last, ", although it has lost its lock");
            case UNKNOWN -> {
                if (options.unseen() == Unseen.REFUSE) {
                    throw taken(
                            home,
                            info,
                            last,
                            ", in " + process.pidNamespace()
                                    + " where it can't be seen from here, so it is taken for alive; to take over all the"
                                    + " same, join with TRUST_LOCK");
                }
            }
        }
    }

    private static NameTakenException taken(Home home, WorkerInfo info, WorkerRecord holder, String remark) {
        return new NameTakenException(
                info.name(),
                holder.process().pid(),
                describe(home, info) + " is taken: pid " + holder.process().pid() + " has it since "
                        + Instant.ofEpochMilli(holder.joinedAtMs()) + remark);
    }

    private static String describe(Home home, WorkerInfo info) {
        return "worker " + info.name() + " (id " + info.id() + ") of " + home.path();
    }

    /** Reads the existing record. An unreadable one is ignored: the holder of the lock writes a new one. */
    private static Optional<WorkerRecord> readOwnRecord(Path path, SafeFiles files) throws IOException {
        Path file = path.resolve(RECORD_FILE);
        try {
            return Optional.of(WorkerRecordJson.read(files.readSmall(file, WorkerRecordJson.MAX_BYTES), file));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (MalformedHomeFileException e) {
            LOG.warn("{}; it will be replaced", e.getMessage());
            return Optional.empty();
        }
    }

    public Home home() {
        return home;
    }

    public WorkerInfo info() {
        return info;
    }

    public int id() {
        return info.id();
    }

    public String name() {
        return info.name();
    }

    public Path path() {
        return path;
    }

    /** Returns how often this name has joined; identifies an incarnation of it. */
    public long epoch() {
        return record().epoch();
    }

    /**
     * Accepts calls from now on: peers that know an earlier incarnation of this name see at their next call that it has
     * ended.
     */
    public void takesCalls() {
        cursors.epoch(epoch());
    }

    /**
     * Returns the last record of the previous incarnation: not {@link WorkerState#LEFT} when it ended without leaving.
     */
    public Optional<WorkerRecord> previous() {
        return previous;
    }

    public Cursors cursors() {
        return cursors;
    }

    public Doorbell doorbell() {
        return doorbell;
    }

    /** Returns the first contacts of this incarnation. */
    public Contacts contacts() {
        return contacts;
    }

    /** Returns whether this is another boot of the host than that of the previous incarnation, or there was none. */
    public boolean isAfterBoot() {
        return previous.map(last ->
                        !last.process().bootId().equals(record().process().bootId()))
                .orElse(true);
    }

    /**
     * Returns whether the cursors show exactly with whom the previous incarnation talked and how far it had read: not when
     * they were replaced, or after a crash of the host.
     */
    public boolean cursorsAreExact() {
        return !isAfterBoot() && cursors.origin() == Cursors.Origin.KEPT || epoch() == 1;
    }

    /** Returns the least counter of this worker's message ids: its id may have been another worker's before. */
    public long firstCounter() {
        return former.counter();
    }

    /** Returns the current content of {@code worker.json}. */
    public synchronized WorkerRecord record() {
        return record;
    }

    /** The path of a private directory in this one, made when it is not there. */
    public Path subdirectory(String name) throws IOException {
        return home.host().files().createPrivateDirectory(path.resolve(name));
    }

    /** Publishes handlers whose requests are begun at most once. */
    public void publish(WorkerState state, List<String> serves, Map<String, String> settings) throws IOException {
        publish(state, new Served(serves, List.of()), settings);
    }

    /** Publishes the state, the handlers and the settings of this worker. */
    public synchronized void publish(WorkerState state, Served served, Map<String, String> settings)
            throws IOException {
        if (left) {
            throw new IllegalStateException(describe(home, info) + " has left");
        }
        write(record.with(state, served, settings));
    }

    /** Shows the others one more thing, or another text for it; the rest stays as it is. */
    public synchronized void show(String setting, String text) throws IOException {
        Map<String, String> settings = new LinkedHashMap<>(record.settings());
        settings.put(setting, text);
        publish(record.state(), record.served(), settings);
    }

    /** Leaves the home and gives the name back. Threads that poll or wait at the doorbell have stopped by then. */
    public synchronized void leave() throws IOException {
        if (left) {
            return;
        }
        left = true;
        CloseSteps steps = new CloseSteps().attempt(this::sayGoodBye);
        closeAll(steps, cursors, doorbell, contacts, lock);
        steps.finish();
    }

    private void sayGoodBye() throws IOException {
        try {
            write(record.with(WorkerState.LEFT, Served.NOTHING, record.settings()));
        } catch (IOException | RuntimeException | Error e) {
            // the disk is full, for one: better no record than one of a worker that is not there
            home.host().files().remove(path.resolve(RECORD_FILE));
            home.markPresent(info);
            throw e;
        } finally {
            home.host().files().remove(home.presentPath(info)); // last: until then others look at the record
        }
    }

    @Override
    public void close() throws IOException {
        leave();
    }

    /** Drops everything as a killed process would. */
    synchronized void abandon() {
        left = true;
        CloseSteps steps = new CloseSteps();
        closeAll(steps, cursors, doorbell, contacts, lock);
        steps.finishUnchecked();
    }

    private void write(WorkerRecord next) throws IOException {
        // not synced: after a power cut no worker is running, and the lock also contains the epoch
        home.host().files().replaceUnsynced(path.resolve(RECORD_FILE), WorkerRecordJson.write(next));
        record = next;
        home.markPresent(info);
    }

    /** Notes that the name was given an id just now. */
    WorkerDirectory named(boolean justNow) {
        isNew = justNow;
        return this;
    }

    /** Returns whether no worker had this name before, so that nothing in the home is about it. */
    public boolean isNew() {
        return isNew;
    }
}
