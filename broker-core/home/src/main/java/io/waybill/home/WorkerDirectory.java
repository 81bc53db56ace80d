package io.waybill.home;

import io.waybill.api.WorkerInfo;
import io.waybill.home.cursor.Cursors;
import io.waybill.host.Host;
import io.waybill.host.SafeFiles;
import io.waybill.host.failure.CloseSteps;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Directory of the worker itself in a home, from join to leave: its name and id, its {@code worker.json}, cursors,
 * doorbell and first contacts.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> The joining component leaves or closes it; doing so again does
 * nothing. The directory and the claim stay for the next worker of this name.
 */
public final class WorkerDirectory implements AutoCloseable {

    /** Name of the subdirectory with the tensor segments. */
    public static final String SEGMENTS = "segments";

    static final String RECORD_FILE = WorkerRecord.FILE;

    private final Home home;
    private final WorkerInfo info;
    private final Path path;
    private final OwnerLock lock;
    private final Optional<WorkerRecord> previous;
    private final Cursors cursors;
    private final Doorbell doorbell;
    private final Contacts contacts;
    private final FormerId former;
    private final Succession succession;
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
            FormerId former,
            Succession succession) {
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
        this.succession = succession;
    }

    /** Acquires the directory of a claimed name; empty when the name was removed meanwhile. */
    static Optional<WorkerDirectory> join(Home home, WorkerInfo info, JoinOptions options) throws IOException {
        Host host = home.host();
        SafeFiles files = host.files();
        Path path = home.workerPath(info);
        OwnerLock lock;
        try {
            files.createPrivateDirectory(path);
            lock = NameTakeover.takeLock(home, info, path, options);
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
                if (NameTakeover.readRecord(path, files).isEmpty()) { // created by this join
                    files.tree().removeAll(path);
                }
                lock.close();
                return Optional.empty();
            }
            Optional<WorkerRecord> previous = NameTakeover.readRecord(path, files);
            if (previous.isPresent()) {
                NameTakeover.requireGone(home, info, previous.get(), options);
            }
            cursors = Cursors.openOwn(path, info.id(), host);
            long last = Math.max(
                    lock.epoch(), previous.isEmpty() ? 0 : previous.get().epoch());
            if (last == 0) { // both files are missing, or never existed
                last = cursors.epoch();
            }
            FormerId former = home.claims().beginOf(info.id());
            long epoch = Math.max(last, former.epoch()) + 1;
            doorbell = Doorbell.openOwn(path, home.host());
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
                    options.reachability(),
                    options.groups(),
                    options.published());
            Succession succession = Succession.of(
                    previous, record, cursors.origin(), host.clock().bootNs());
            write(home, info, record.shown(succession));
            if (succession.isTooLate(host.clock().bootNs())) {
                succession = Succession.none(epoch);
                write(home, info, record);
            }
            return Optional.of(new WorkerDirectory(
                    home, info, lock, previous, cursors, doorbell, contacts, record, former, succession));
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

    /** Returns the number of joins of this name, which identifies an incarnation of it. */
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

    /** Returns the earlier incarnations that this one continues. */
    public Succession succession() {
        return succession;
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

    /** Returns whether the host was booted since the previous incarnation, or there was none. */
    public boolean isAfterBoot() {
        return previous.isEmpty()
                || !previous.get().process().bootId().equals(record().process().bootId());
    }

    /**
     * Returns whether the cursors show exactly the peers with which the previous incarnation communicated, and how far
     * it had read them: not when they were replaced, or after a crash of the host.
     */
    public boolean cursorsAreExact() {
        return !isAfterBoot() && cursors.origin() == Cursors.Origin.KEPT || epoch() == 1;
    }

    /** Returns the min counter of this worker's message ids: its id may have been another worker's before. */
    public long firstCounter() {
        return former.counter();
    }

    /** Returns the current content of {@code worker.json}. */
    public synchronized WorkerRecord record() {
        return record;
    }

    /** Returns the path of a private subdirectory, which is created when it does not exist. */
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
            throw new IllegalStateException(NameTakeover.describe(home, info) + " has left");
        }
        write(record.with(state, served, succession.shownWith(settings)));
    }

    /** Publishes one more setting, or another text for it; the rest stays as it is. */
    public synchronized void show(String setting, String text) throws IOException {
        Map<String, String> settings = new LinkedHashMap<>(record.settings());
        settings.put(setting, text);
        publish(record.state(), record.served(), settings);
    }

    /** Leaves the home and releases the name; what was sent to the worker ends. */
    public void leave() throws IOException {
        leave(Duration.ZERO);
    }

    /**
     * Leaves the home and releases the name. Threads that poll or wait at the doorbell have stopped by then.
     *
     * @param forSuccessor time for which requests that were not begun wait for the next worker of this name
     */
    public synchronized void leave(Duration forSuccessor) throws IOException {
        if (left) {
            return;
        }
        left = true;
        CloseSteps steps = new CloseSteps().attempt(() -> sayGoodBye(forSuccessor.toNanos()));
        closeAll(steps, cursors, doorbell, contacts, lock);
        steps.finish();
    }

    private void sayGoodBye(long waitNs) throws IOException {
        Map<String, String> settings = record.settings();
        try {
            write(record.with(
                    WorkerState.LEFT,
                    Served.NOTHING,
                    waitNs == 0
                            ? settings
                            : succession.leftUntil(settings, home.host().clock().bootNs() + waitNs)));
        } catch (IOException | RuntimeException | Error e) {
            // such as on a full disk: better no record than the record of a worker that is not there
            home.host().files().remove(path.resolve(RECORD_FILE));
            home.markPresent(info);
            throw e;
        } finally {
            home.host().files().remove(home.presentPath(info)); // last: until then others read the record
        }
    }

    @Override
    public void close() throws IOException {
        leave();
    }

    /** Drops all resources as a killed process would. */
    synchronized void abandon() {
        left = true;
        CloseSteps steps = new CloseSteps();
        closeAll(steps, cursors, doorbell, contacts, lock);
        steps.finishUnchecked();
    }

    private void write(WorkerRecord next) throws IOException {
        write(home, info, next);
        record = next;
    }

    private static void write(Home home, WorkerInfo info, WorkerRecord next) throws IOException {
        // not synced: after a power cut no worker is running, and the lock also contains the epoch
        Path file = home.workerPath(info).resolve(RECORD_FILE);
        home.host().files().replaceUnsynced(file, WorkerRecordJson.write(next));
        home.markPresent(info);
    }

    /** Notes whether the name was assigned an id just now. */
    WorkerDirectory named(boolean justNow) {
        isNew = justNow;
        return this;
    }

    /** Returns whether no worker had this name before, so that nothing in the home refers to it. */
    public boolean isNew() {
        return isNew;
    }
}
