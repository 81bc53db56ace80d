package io.waybill.home;

import io.waybill.api.WorkerInfo;
import io.waybill.home.cursor.FileStamp;
import io.waybill.host.ChangeWatch;
import io.waybill.host.Clock;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Members of the home, kept up to date by scanning a directory repeatedly: {@code workers/} for all that ever joined,
 * or {@code present/} for those that have not left in order, which costs nothing for the others.
 *
 * <p>Every write of a {@code worker.json} touches both directories, and the worker's file in {@code present/}. A scan
 * of an unchanged home costs a stat of the directory, and a system call for each live worker; those that have not left
 * are checked every second. Where the host reports changes of {@code present/} and ends of processes, a scan reads only
 * the {@code worker.json} of those that changed, and checks processes only if a wait was ended: without a change it
 * costs nothing, for any number of workers. In any case all are checked every 30 s.
 *
 * <p><b>Threads.</b> One at a time calls {@link #refresh()}, {@link #changesEnd} or {@link #restNs()}; any thread may
 * read {@link #members()}. <b>Ownership.</b> Its creator closes it, after the last scan. Closing is idempotent.
 * <b>Errors.</b> A worker with damaged or unsafe files is {@link PeerState#UNREADABLE}; the scan continues.
 */
public final class Membership implements AutoCloseable {
    private static final long LOOK_INTERVAL_NS = 1_000_000_000L;
    private static final long REPORTED_LOOK_INTERVAL_NS = 30_000_000_000L;
    /** Interval of scans when the host reports no changes: short enough that a worker is discovered within 100 ms. */
    private static final long UNTOLD_LOOK_INTERVAL_NS = 80_000_000L;

    private static final ChangeWatch.Changes NO_CHANGES = new ChangeWatch.Changes(Set.of(), false, false, true);
    private static final int MAX_DIRECTORIES = 2 * (WorkerInfo.MAX_ID + 1);
    private static final Pattern DIRECTORY = Pattern.compile("(0|[1-9][0-9]{0,4})-([A-Za-z0-9_:-]{1,127})");

    private final Home home;
    private final Path scanned;
    private final SafeFiles files;
    private final Clock clock;
    private final Claims claims;
    // by directory name; the housekeeping thread's
    private final SortedMap<String, KnownWorker> known = new TreeMap<>();
    private FileStamp scannedStamp = FileStamp.MISSING;
    private boolean scannedTooYoung;
    private boolean notified; // whether the host reports every change from the last full check on
    private long lookAtNs;
    private ChangeWatch changes; // null when no thread waits for changes
    // written by the housekeeping thread, read by all
    private volatile Members members = Members.NONE;

    /** Creates the membership of all workers that ever joined. */
    public Membership(Home home) {
        this(home, home.workersPath());
    }

    private Membership(Home home, Path scanned) {
        this.home = home;
        this.scanned = scanned;
        this.files = home.host().files();
        this.clock = home.host().clock();
        this.claims = home.claims();
        this.lookAtNs = clock.monotonicNs() - LOOK_INTERVAL_NS;
    }

    /** Creates the membership of the workers that have not left in order. {@link #find} returns the others, too. */
    public static Membership present(Home home) {
        return new Membership(home, home.presentPath());
    }

    /**
     * Makes changes that only a {@link #refresh()} can see end waits of {@code watching} from now on, as far as the
     * host reports them.
     */
    public void changesEnd(ChangeWatch watching) {
        changes = watching;
        notified = false; // changes may have come before
        for (KnownWorker worker : known.values()) {
            worker.changesEnd(watching);
        }
    }

    /** Returns the max time between scans, unless a wait for changes ends. */
    public long restNs() {
        boolean isReported = notified;
        for (KnownWorker worker : known.values()) {
            isReported &= !worker.mustBeAsked();
        }
        return isReported ? REPORTED_LOOK_INTERVAL_NS : UNTOLD_LOOK_INTERVAL_NS;
    }

    /** Returns the workers as the last {@link #refresh()} found them. */
    public Members members() {
        return members;
    }

    /**
     * Returns a worker by its name, as the last {@link #refresh()} found it, or as it is now if it left before. Any
     * thread.
     */
    public Optional<Peer> find(String name) throws IOException {
        Optional<Peer> member = members.find(name);
        Optional<WorkerInfo> info = member.isPresent() ? Optional.empty() : infoOf("0-" + name);
        Optional<Integer> id = info.isEmpty() ? Optional.empty() : claims.idOf(name);
        return id.isEmpty() ? member : read(new WorkerInfo(id.get(), name));
    }

    /** Returns a worker by its id, as {@link #find(String)} does. */
    public Optional<Peer> find(int id) throws IOException {
        Optional<Peer> member = members.find(id);
        Optional<String> name = member.isPresent() ? Optional.empty() : claims.nameOf(id);
        Optional<WorkerInfo> info = name.flatMap(text -> infoOf(id + "-" + text));
        return info.isEmpty() ? member : read(info.get());
    }

    /** Returns the worker with this name, else with this id in decimal. */
    public Optional<Peer> findByNameOrId(String text) throws IOException {
        Optional<Peer> named = find(text);
        return named.isPresent() || !text.matches("[0-9]{1,5}") ? named : find(Integer.parseInt(text));
    }

    /** Returns the number of workers that ever joined, without those that were removed. */
    public long everJoined() throws IOException {
        return files.list(home.workersPath(), MAX_DIRECTORIES).stream()
                .filter(entry -> infoOf(entry.getFileName().toString()).isPresent())
                .count();
    }

    /** Returns a worker according to its current record. Any thread. */
    public Optional<Peer> read(WorkerInfo info) {
        KnownWorker worker = new KnownWorker(info, home.workerPath(info), claims, home.host());
        try {
            worker.look(clock.wallNs());
            return worker.toPeer();
        } finally {
            worker.close();
        }
    }

    /**
     * Scans the home.
     *
     * @return whether {@link #members()} changed
     * @throws IOException when the home itself can't be read
     */
    public boolean refresh() throws IOException {
        long wallNs = clock.wallNs();
        ChangeWatch.Changes reported = changes == null ? NO_CHANGES : changes.takeChanges();
        boolean listing = notified ? reported.entries() : hasChanged(wallNs);
        boolean all = beginsLook(listing, reported.lost());
        boolean changed = (listing || all) && listDirectories();
        for (Map.Entry<String, KnownWorker> entry : known.entrySet()) {
            KnownWorker worker = entry.getValue();
            if (reported.touched().contains(entry.getKey())) {
                changed |= worker.lookAfterChange();
            } else if (all || worker.isUnseen()) {
                changed |= worker.look(wallNs);
            }
            if (worker.isThere() && (reported.waitEnded() || all || worker.mustBeAsked())) {
                changed |= worker.checkLiveness();
            }
        }
        if (changed) {
            members = snapshot();
        }
        return changed;
    }

    /** Returns whether this scan checks all workers: rarely, where each change is reported. */
    private boolean beginsLook(boolean listing, boolean lost) {
        long nowNs = clock.monotonicNs();
        boolean due = notified
                ? lost || nowNs - lookAtNs >= REPORTED_LOOK_INTERVAL_NS
                : listing || nowNs - lookAtNs >= LOOK_INTERVAL_NS;
        if (due) {
            lookAtNs = nowNs;
            notified = changes != null && changes.seesDirectory();
        }
        return due;
    }

    private boolean hasChanged(long wallNs) throws IOException {
        FileStamp stamp = FileStamp.of(scanned);
        boolean changed = scannedTooYoung || !stamp.equals(scannedStamp);
        scannedStamp = stamp;
        scannedTooYoung = stamp.isTooYoung(wallNs);
        return changed;
    }

    /** Closes the descriptors that watch processes. */
    @Override
    public void close() {
        known.values().forEach(KnownWorker::close);
    }

    private boolean listDirectories() throws IOException {
        Set<String> found = new HashSet<>();
        boolean changed = false;
        for (Path entry : entries()) {
            String name = entry.getFileName().toString();
            Optional<WorkerInfo> info = infoOf(name);
            if (info.isPresent()) {
                found.add(name);
                if (!known.containsKey(name)) {
                    KnownWorker worker = new KnownWorker(info.get(), home.workerPath(info.get()), claims, home.host());
                    if (changes != null) {
                        worker.changesEnd(changes);
                    }
                    known.put(name, worker);
                    changed = true;
                }
            }
        }
        for (Map.Entry<String, KnownWorker> entry : known.entrySet()) {
            if (!found.contains(entry.getKey())) {
                entry.getValue().close();
            }
        }
        return known.keySet().retainAll(found) || changed;
    }

    private List<Path> entries() throws IOException {
        try {
            return files.list(scanned, MAX_DIRECTORIES);
        } catch (NoSuchFileException e) {
            if (scanned.equals(home.presentPath())
                    && !FileStamp.of(home.workersPath()).equals(FileStamp.MISSING)) {
                return List.of(); // no worker has joined yet
            }
            throw e;
        }
    }

    static Optional<WorkerInfo> infoOf(String directory) {
        Matcher matcher = DIRECTORY.matcher(directory);
        if (!matcher.matches()) {
            return Optional.empty();
        }
        int id = Integer.parseInt(matcher.group(1));
        return id > WorkerInfo.MAX_ID ? Optional.empty() : Optional.of(new WorkerInfo(id, matcher.group(2)));
    }

    private Members snapshot() {
        List<Peer> peers = new ArrayList<>();
        for (KnownWorker worker : known.values()) {
            Optional<Peer> peer = worker.toPeer();
            if (peer.isPresent()) {
                peers.add(peer.get());
            }
        }
        peers.sort((a, b) -> Integer.compare(a.id(), b.id()));
        return new Members(peers);
    }
}
