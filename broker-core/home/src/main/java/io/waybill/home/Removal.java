package io.waybill.home;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.waybill.api.WorkerInfo;
import io.waybill.home.cursor.FileStamp;
import io.waybill.home.cursor.StoredCursors;
import io.waybill.home.error.HomeException;
import io.waybill.host.Host;
import io.waybill.host.Liveness;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Removes what departed workers left in a home: their directory, name and id. The caller decides whether other workers
 * still need something of it.
 *
 * <p>All steps are taken with the worker's lock held, so no other process joins under the name meanwhile. The first
 * one, which renames the claim of the id, decides: a process that ends before it has changed nothing; a removal whose
 * process ends after it is completed by the next removal, or by the next process that joins under the name.
 *
 * <p><b>Threads.</b> Stateless, also among processes.
 */
public final class Removal {

    /** Steps in their order; a process may end before each. */
    enum Step {
        /** Notes the destination of the directory, if it is to be moved. */
        NOTE_ARCHIVE,
        /** Frees the id: the removal is decided. */
        FREE_ID,
        FREE_NAME,
        /** Renames the directory to a name that no worker has. */
        HIDE,
        /** Moves the directory into the archive, or deletes it. */
        DISPOSE
    }

    /** Callback before each step, for tests. */
    @FunctionalInterface
    interface Steps {
        void before(Step step) throws IOException;
    }

    private static final long LOCK_RETRY_NS = 2_000_000;
    private static final long LOCK_WAIT_NS = 2_000_000_000L;
    private static final String HIDDEN = "removed-";
    private static final Pattern HIDDEN_NAME = Pattern.compile(HIDDEN + "(0|[1-9][0-9]{0,4})-([A-Za-z0-9_:-]{1,127})");
    private static final String ARCHIVE_NOTE = "archive-to";
    private static final int MAX_IDS_BYTES = 64;
    private static final Pattern NEXT_BLOCK = Pattern.compile(" next (\\d{1,9}) ");
    private static final int MAX_DIRECTORIES = 4 * (WorkerInfo.MAX_ID + 1);

    private final Home home;
    private final SafeFiles files;
    private final Steps steps;

    public Removal(Home home) {
        this(home, step -> {});
    }

    Removal(Home home, Steps steps) {
        this.home = home;
        this.files = home.host().files();
        this.steps = steps;
    }

    /**
     * Removes a worker that left or died.
     *
     * @param archive home on the same file system that receives the directory; empty to delete it
     * @throws HomeException when the worker is there, or may be, or joins just now, or the archive has its id or name
     * already
     */
    public void remove(Peer worker, Optional<Path> archive) throws IOException {
        boolean isGone = worker.state() == PeerState.LEFT
                || worker.state() == PeerState.DEAD && worker.liveness() == Liveness.DEAD;
        if (!isGone) {
            throw new HomeException("worker " + worker.name() + " is not gone, or can't be seen from here ("
                    + worker.state() + "): only one that left or died is removed");
        }
        if (archive.isPresent()) {
            requireRoomIn(archive(archive.get()), worker.info());
        }
        try (OwnerLock lock = lock(worker.info(), 0)) {
            Optional<WorkerRecord> now = new StoredWorker(worker.info(), worker.path(), files).said();
            if (now.isEmpty()
                    || now.get().epoch() != worker.epoch()
                    || !home.claims().isClaimed(worker.info())) {
                throw new HomeException("worker " + worker.name() + " has joined again meanwhile: it is not removed");
            }
            Path note = worker.path().resolve(ARCHIVE_NOTE);
            steps.before(Step.NOTE_ARCHIVE);
            files.remove(note);
            if (archive.isPresent()) {
                files.createClaim(
                        note, archive.get().toAbsolutePath().normalize().toString());
            }
            steps.before(Step.FREE_ID);
            home.claims().free(worker.info(), last(worker, lock));
            finish(worker.info(), worker.path());
            home.claims().dropForgotten(worker.id(), worker.epoch());
        }
    }

    private FormerId last(Peer worker, OwnerLock lock) throws IOException {
        long counter = StoredCursors.nextCounter(worker.path(), worker.info(), files) + FormerId.MARGIN;
        return new FormerId(Math.max(Math.max(worker.epoch(), lock.epoch()), blocks(worker)), counter);
    }

    /**
     * Returns the epoch that begins at the block of unique ids that the worker would have taken next; 0 if it took no
     * second block.
     */
    private long blocks(Peer worker) throws IOException {
        try {
            String ids = new String(files.readSmall(worker.path().resolve("ids"), MAX_IDS_BYTES), ISO_8859_1);
            Matcher next = NEXT_BLOCK.matcher(ids);
            return next.find() ? Long.parseLong(next.group(1)) + 1 : 0;
        } catch (NoSuchFileException e) {
            return 0;
        }
    }

    private OwnerLock lock(WorkerInfo worker, long waitNs) throws IOException {
        Host host = home.host();
        long giveUpAtNs = host.clock().monotonicNs() + waitNs;
        Optional<OwnerLock> lock = OwnerLock.take(home.workerPath(worker), files);
        while (lock.isEmpty()) {
            if (host.clock().monotonicNs() - giveUpAtNs >= 0) {
                throw new HomeException("worker " + worker.name() + " is taken: another process holds "
                        + home.workerPath(worker).resolve("lock/owner"));
            }
            host.threads().pause(LOCK_RETRY_NS);
            lock = OwnerLock.take(home.workerPath(worker), files);
        }
        return lock.get();
    }

    private void requireRoomIn(Home archive, WorkerInfo worker) throws IOException {
        if (!Files.getFileStore(archive.path()).equals(Files.getFileStore(home.path()))) {
            throw new HomeException("the archive " + archive.path() + " is on another file system than " + home.path()
                    + ": give a directory on the same one");
        }
        if (!archive.identity().includes(worker.id())) {
            throw new HomeException("the archive " + archive.path() + " is of " + archive.identity()
                    + ": expected one with the id " + worker.id() + " of worker " + worker.name()
                    + "; give another directory");
        }
        if (isThere(archive.workerPath(worker))
                || archive.idOf(worker.name()).isPresent()
                || archive.claims().nameOf(worker.id()).isPresent()) {
            throw new HomeException("the archive " + archive.path() + " has a worker named " + worker.name()
                    + " or with the id " + worker.id() + " already; give another directory");
        }
    }

    private static boolean isThere(Path directory) throws IOException {
        return !FileStamp.of(directory).equals(FileStamp.MISSING);
    }

    /** Takes the steps after the first one. Call with the worker's lock, and after its id was freed. */
    private void finish(WorkerInfo worker, Path directory) throws IOException {
        steps.before(Step.FREE_NAME);
        home.claims().freeName(worker);
        files.remove(home.presentPath(worker)); // it may have died
        steps.before(Step.HIDE);
        Path hidden = directory.resolveSibling(HIDDEN + worker.id() + "-" + worker.name());
        if (isThere(hidden)) {
            dispose(hidden); // the directory of an earlier worker with this id and name
        }
        files.renameWithin(directory, hidden);
        files.syncParent(hidden);
        dispose(hidden);
    }

    /** Opens the home that receives what is removed, and that has the same ids. */
    private Home archive(Path path) throws IOException {
        return Home.open(path, home.host(), Home.ROLL_CYCLE_DEFAULT, home.identity());
    }

    private void dispose(Path hidden) throws IOException {
        steps.before(Step.DISPOSE);
        Optional<String> archive = files.readClaim(hidden.resolve(ARCHIVE_NOTE));
        Matcher name = HIDDEN_NAME.matcher(hidden.getFileName().toString());
        if (archive.isEmpty() || !name.matches()) {
            files.tree().removeAll(hidden);
            return;
        }
        Home target = archive(Path.of(archive.get()));
        WorkerInfo worker = new WorkerInfo(Integer.parseInt(name.group(1)), name.group(2));
        target.claim(worker);
        files.tree().move(hidden, target.workerPath(worker));
        files.remove(target.workerPath(worker).resolve(ARCHIVE_NOTE));
    }

    /** Completes removals whose process ended. Returns their workers. */
    public List<WorkerInfo> complete() throws IOException {
        List<WorkerInfo> completed = new ArrayList<>();
        home.claims().dropForgotten();
        for (Path directory : files.list(home.workersPath(), MAX_DIRECTORIES)) {
            String name = directory.getFileName().toString();
            Matcher hidden = HIDDEN_NAME.matcher(name);
            Optional<WorkerInfo> worker = Membership.infoOf(name);
            if (hidden.matches()) {
                dispose(directory);
                completed.add(new WorkerInfo(Integer.parseInt(hidden.group(1)), hidden.group(2)));
            } else if (worker.isPresent()
                    && home.claims().isFreed(worker.get())
                    && complete(worker.get(), LOCK_WAIT_NS)) {
                completed.add(worker.get());
            }
        }
        return completed;
    }

    /**
     * Completes the removal of a worker whose id was freed.
     *
     * @param waitNs max time to wait for another process that completes it
     * @return whether the removal was still incomplete
     */
    boolean complete(WorkerInfo worker, long waitNs) throws IOException {
        Path directory = home.workerPath(worker);
        if (!isThere(directory)) {
            return false;
        }
        OwnerLock lock;
        try {
            lock = lock(worker, waitNs);
        } catch (NoSuchFileException e) {
            return false; // another process has just completed it
        }
        try {
            boolean isOpen = home.claims().isFreed(worker) && isThere(directory);
            if (isOpen) {
                finish(worker, directory);
            }
            return isOpen;
        } finally {
            lock.close();
        }
    }
}
