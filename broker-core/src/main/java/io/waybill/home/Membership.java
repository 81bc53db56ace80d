package io.waybill.home;

import io.waybill.api.WorkerInfo;
import io.waybill.home.cursor.FileStamp;
import io.waybill.host.ChangeWatch;
import io.waybill.host.Clock;
import io.waybill.host.SafeFiles;
import java.io.IOException;
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
 * The members of the home, kept up to date by scanning {@code workers/} repeatedly.
 *
 * <p>A scan of an unchanged home costs a stat of {@code workers/}, which every write of a {@code worker.json} touches,
 * and a system call for each live worker. Once a second all {@code worker.json} are checked in any case.
 *
 * <p><b>Threads.</b> One at a time calls {@link #refresh()}, {@link #changesEnd} or {@link #restNs()}; any thread may
 * read {@link #members()}. <b>Ownership.</b> Its creator closes it, after the last scan. Closing is idempotent.
 * <b>Errors.</b> A worker with damaged or unsafe files is {@link PeerState#UNREADABLE}; the scan continues.
 */
public final class Membership implements AutoCloseable {
    private static final long FULL_LOOK_INTERVAL_NS = 1_000_000_000L;
    /** Short enough that a worker is discovered within 100 ms. */
    private static final long UNTOLD_LOOK_INTERVAL_NS = 80_000_000L;

    private static final int MAX_DIRECTORIES = 2 * (WorkerInfo.MAX_ID + 1);
    private static final Pattern DIRECTORY = Pattern.compile("(0|[1-9][0-9]{0,4})-([A-Za-z0-9_:-]{1,127})");

    private final Home home;
    private final SafeFiles files;
    private final Clock clock;
    private final Claims claims;
    // by directory name; the housekeeping thread's
    private final SortedMap<String, KnownWorker> known = new TreeMap<>();
    private FileStamp workersStamp = FileStamp.MISSING;
    private boolean workersTooYoung;
    private long fullLookAtNs;
    private ChangeWatch changes; // null when no thread waits for changes
    // written by the housekeeping thread, read by all
    private volatile Members members = Members.NONE;

    public Membership(Home home) {
        this.home = home;
        this.files = home.host().files();
        this.clock = home.host().clock();
        this.claims = new Claims(home.path().resolve("claims"), files);
        this.fullLookAtNs = clock.monotonicNs() - FULL_LOOK_INTERVAL_NS;
    }

    /**
     * Lets changes that only a {@link #refresh()} can see end waits of {@code watching} from now on, as far as the host
     * reports them.
     */
    public void changesEnd(ChangeWatch watching) {
        changes = watching;
        known.values().forEach(worker -> worker.changesEnd(watching));
    }

    /** Returns the max time without a scan, unless a wait for changes ends. */
    public long restNs() {
        boolean notified = changes != null
                && changes.seesDirectory()
                && !workersTooYoung
                && known.values().stream().noneMatch(KnownWorker::mustBeAsked);
        return notified ? FULL_LOOK_INTERVAL_NS : UNTOLD_LOOK_INTERVAL_NS;
    }

    /** The workers as the last {@link #refresh()} found them. */
    public Members members() {
        return members;
    }

    /**
     * Scans the home.
     *
     * @return whether {@link #members()} changed
     * @throws IOException when the home itself can't be read
     */
    public boolean refresh() throws IOException {
        long nowNs = clock.monotonicNs();
        long wallNs = clock.wallNs();
        FileStamp stamp = FileStamp.of(home.workersPath());
        boolean directoryChanged = workersTooYoung || !stamp.equals(workersStamp);
        boolean changed = false;
        if (directoryChanged) {
            changed = listDirectories();
            workersStamp = stamp;
            workersTooYoung = stamp.isTooYoung(wallNs);
        }
        boolean lookAtAll = directoryChanged || nowNs - fullLookAtNs >= FULL_LOOK_INTERVAL_NS;
        if (lookAtAll) {
            fullLookAtNs = nowNs;
        }
        for (KnownWorker worker : known.values()) {
            if (lookAtAll) {
                changed |= worker.look(wallNs);
            }
            if (worker.isThere()) {
                changed |= worker.checkLiveness();
            }
        }
        if (changed) {
            members = snapshot();
        }
        return changed;
    }

    /** Closes the descriptors by which it watches processes. */
    @Override
    public void close() {
        known.values().forEach(KnownWorker::close);
    }

    private boolean listDirectories() throws IOException {
        Set<String> found = new HashSet<>();
        boolean changed = false;
        for (Path directory : files.list(home.workersPath(), MAX_DIRECTORIES)) {
            String name = directory.getFileName().toString();
            Optional<WorkerInfo> info = infoOf(name);
            if (info.isPresent()) {
                found.add(name);
                if (!known.containsKey(name)) {
                    KnownWorker worker = new KnownWorker(info.get(), directory, claims, home.host());
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

    private static Optional<WorkerInfo> infoOf(String directory) {
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
            worker.toPeer().ifPresent(peers::add);
        }
        peers.sort((a, b) -> Integer.compare(a.id(), b.id()));
        return new Members(peers);
    }
}
