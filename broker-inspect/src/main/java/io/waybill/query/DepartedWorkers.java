package io.waybill.query;

import io.waybill.home.Home;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import io.waybill.home.Removal;
import io.waybill.home.StoredWorker;
import io.waybill.home.WorkerRecord;
import io.waybill.home.cursor.FileStamp;
import io.waybill.home.cursor.StoredCursor;
import io.waybill.host.SafeFiles;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.Roll;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.LongPredicate;
import java.util.regex.Pattern;
import org.agrona.collections.LongHashSet;

/**
 * Unread records between departed workers and others, according to all cursors of the home at creation, and to
 * responses where a worker has no slot for another. Files are only read, and not mapped.
 *
 * <p>A worker that left in order waits for no record, and no worker waits for an abandoned one.
 *
 * <p><b>Threads.</b> One.
 */
public final class DepartedWorkers {

    /**
     * Messages that would be lost.
     *
     * @param what for example {@code requests from trainer that it has not completed}
     */
    public record Loss(long count, String what) {
        @Override
        public String toString() {
            return count + " " + what;
        }
    }

    /** Name of the worker that commands join to call; with {@code -2} and so on while it is in use. */
    public static final String COMMAND_WORKER = "cli";

    /** Name of the worker that sends failed calls again: its journal is the record of which ones it has sent. */
    public static final String RESENDING_WORKER = COMMAND_WORKER + "-resend";

    private static final Pattern COMMAND_WORKERS = Pattern.compile(COMMAND_WORKER + "(-[0-9]+)?|" + RESENDING_WORKER);
    private static final int MAX_ENTRIES = 1000;

    private final Home home;
    private final SafeFiles files;
    private final Roll roll;
    private final Map<Integer, Peer> peers = new TreeMap<>();
    private final Map<Integer, Map<Integer, StoredCursor>> slots = new HashMap<>(); // by owner and peer
    private final Map<Integer, Set<Integer>> notedBy = new HashMap<>();
    private final Map<Integer, LongHashSet> responded =
            new HashMap<>(); // by worker, to peers without a recorded position

    /** Reads the cursors of all these workers. */
    public DepartedWorkers(Home home, List<Peer> all) {
        this.home = home;
        this.files = home.host().files();
        this.roll = Roll.named(home.rollCycle());
        for (Peer owner : all) {
            peers.put(owner.id(), owner);
            Map<Integer, StoredCursor> own = new HashMap<>();
            for (StoredCursor slot : new StoredWorker(owner.info(), owner.path(), files).cursors()) {
                own.put(slot.peerId(), slot);
                notedBy.computeIfAbsent(slot.peerId(), id -> new TreeSet<>()).add(owner.id());
            }
            slots.put(owner.id(), own);
        }
    }

    /** Returns the workers that left in order at least the given time ago. */
    public List<Peer> leftBefore(Duration age) throws IOException {
        long untilNs = home.host().clock().wallNs() - age.toNanos();
        List<Peer> left = new ArrayList<>();
        for (Peer peer : peers.values()) {
            // written when it left
            if (peer.state() == PeerState.LEFT
                    && FileStamp.of(peer.path().resolve(WorkerRecord.FILE)).modifiedNs() <= untilNs) {
                left.add(peer);
            }
        }
        return left;
    }

    /**
     * Returns the reason to keep a departed worker unless it is removed by its name. A stopped node may return for its
     * bundles and stores, and the journals of commands show who made a change. Empty if there is none.
     */
    public Optional<String> kept(Peer worker) throws IOException {
        Set<String> directories = new TreeSet<>();
        for (Path directory : files.listDirectories(worker.path(), MAX_ENTRIES)) {
            directories.add(directory.getFileName().toString());
        }
        if (directories.contains("bundles") || directories.contains("osgi")) {
            return Optional.of("a node, with its bundles and state");
        }
        if (directories.contains("state")) {
            return Optional.of("it has stores on disk");
        }
        if (directories.contains("kept")) {
            return Optional.of("it has values that outlive it");
        }
        return COMMAND_WORKERS.matcher(worker.name()).matches()
                ? Optional.of("the record of what commands did")
                : Optional.empty();
    }

    /**
     * Removes all workers that left in order at least the given time ago, have no reason to be {@link #kept}, and have
     * no record that another worker needs; returns their number.
     */
    public static int removeLeftBefore(Home home, Duration age) throws IOException {
        Removal removal = new Removal(home);
        int removed = removal.complete().size();
        try (Membership membership = new Membership(home)) {
            membership.refresh();
            DepartedWorkers departed =
                    new DepartedWorkers(home, membership.members().all());
            for (Peer worker : departed.leftBefore(age)) {
                if (departed.kept(worker).isEmpty() && departed.losses(worker).isEmpty()) {
                    removal.remove(worker, Optional.empty());
                    removed++;
                }
            }
        }
        return removed;
    }

    /** Returns the losses of a removal of this departed worker; empty if there are none. */
    public List<Loss> losses(Peer gone) throws IOException {
        Set<Integer> talkers = new TreeSet<>(notedBy.getOrDefault(gone.id(), Set.of()));
        talkers.addAll(slots.getOrDefault(gone.id(), Map.of()).keySet());
        List<Loss> losses = new ArrayList<>();
        for (int id : talkers) {
            Peer other = peers.get(id);
            if (other != null && id != gone.id() && other.state() != PeerState.LEFT && !home.isForgotten(other)) {
                addOf(gone, other, losses);
            }
        }
        return losses;
    }

    private void addOf(Peer gone, Peer other, List<Loss> losses) throws IOException {
        StoredCursor ofOther = slots.get(other.id()).get(gone.id());
        add(uncompleted(other, gone), "requests from " + other.name() + " that it has not completed", losses);
        add(uncompleted(gone, other), "requests that " + other.name() + " has not completed", losses);
        if (ofOther != null && ofOther.responsesIndex() >= 0) {
            add(
                    unread(gone, JournalQueue.RESPONSES, other.id(), ofOther.responsesIndex(), id -> true),
                    "responses that " + other.name() + " has not read",
                    losses);
        }
    }

    private static void add(long count, String what, List<Loss> losses) {
        if (count > 0) {
            losses.add(new Loss(count, what));
        }
    }

    private static boolean onlyCalls(Peer peer) {
        return peer.record()
                .map(record -> WorkerRecord.CALLS_ONLY.equals(record.settings().get(WorkerRecord.ROLE)))
                .orElse(false);
    }

    /**
     * Counts the requests from one worker that another has not completed. If the other worker has no position for the
     * first one, because it reused the slot or has just begun the first request, requests without a recorded response
     * count.
     */
    private long uncompleted(Peer from, Peer to) throws IOException {
        if (onlyCalls(to)) {
            return 0;
        }
        StoredCursor slot = slots.get(to.id()).get(from.id());
        if (hasCompleted(slot)) {
            return unread(from, JournalQueue.REQUESTS, to.id(), slot.requestsCompletedBefore(), id -> true);
        }
        LongHashSet completed = responded(to);
        return unread(from, JournalQueue.REQUESTS, to.id(), 0, id -> !completed.contains(id));
    }

    private static boolean hasCompleted(StoredCursor slot) {
        return slot != null && slot.requestsCompletedBefore() > 0;
    }

    /** Returns the ids of a worker's responses to peers without a recorded position. */
    private LongHashSet responded(Peer worker) throws IOException {
        LongHashSet found = responded.get(worker.id());
        if (found == null) {
            found = new LongHashSet();
            Map<Integer, StoredCursor> own = slots.get(worker.id());
            try (QueueReader records = open(worker, JournalQueue.RESPONSES)) {
                for (Step step = records.skim(); step != Step.END; step = records.skim()) {
                    if (step == Step.RECORD
                            && !hasCompleted(own.get(records.record().to()))
                            && records.complete()) {
                        found.add(records.record().id());
                    }
                }
            }
            responded.put(worker.id(), found);
        }
        return found;
    }

    /** Counts the records for a reader from a position on that have a matching id. */
    private long unread(Peer writer, JournalQueue queue, int reader, long from, LongPredicate counts)
            throws IOException {
        long count = 0;
        try (QueueReader records = open(writer, queue)) {
            records.moveTo(
                    new RecordPosition(roll, roll.indexOf(roll.cycleOf(from), 0), 0)); // or before the oldest file
            for (Step step = records.skim(); step != Step.END; step = records.skim()) {
                if (step == Step.RECORD
                        && records.index() >= from
                        && records.record().to() == reader
                        && counts.test(records.record().id())) {
                    count++;
                }
            }
        }
        return count;
    }

    private QueueReader open(Peer worker, JournalQueue queue) {
        return QueueReader.open(queue.in(worker.path()), files, JournalSettings.defaults());
    }
}
