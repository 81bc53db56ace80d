package io.waybill.worker.recover;

import io.waybill.api.MessageId;
import io.waybill.home.Peer;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.cursor.CursorSlot;
import io.waybill.home.cursor.PeerCursorSlot;
import io.waybill.home.cursor.PeerCursors;
import io.waybill.home.error.HomeException;
import io.waybill.host.SafeFiles;
import io.waybill.host.failure.HostFailures;
import io.waybill.host.failure.MappedFaults;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.journal.recover.QueueBeginning;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.agrona.collections.LongHashSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds the requests of earlier incarnations whose outcome the last of them did not read: requests without a response,
 * and requests whose response it had not read when it ended; also ids that were assigned to requests in files that no
 * longer exist. The positions are taken when this object is created, before anything is read in this incarnation.
 *
 * <p><b>Threads.</b> One at a time. <b>Memory.</b> At most {@value #MAX} ids, the oldest. Time: reads all records after
 * the oldest incomplete request and after the last response that was read.
 */
public final class UnclaimedScan {

    private static final Logger LOG = LoggerFactory.getLogger(UnclaimedScan.class);
    private static final int MAX = 1 << 20;

    private final WorkerDirectory directory;
    private final JournalSettings settings;
    private final long earlierRequests;
    private final long firstCounter;
    private final boolean cursorsAreExact;
    private final long lostFrom;
    private final long lostTo;
    private final Map<Integer, Long> responsesRead = new HashMap<>();
    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView view = new RecordView(buffer);

    /**
     * Creates a scan.
     *
     * @param earlierRequests number of requests that earlier incarnations wrote
     * @param firstCounter of this incarnation
     * @param asking returns the ids that may belong to requests that are no longer recorded
     */
    public UnclaimedScan(
            WorkerDirectory directory,
            JournalSettings settings,
            long earlierRequests,
            long firstCounter,
            QueueBeginning asking) {
        this.directory = directory;
        this.settings = settings;
        this.earlierRequests = earlierRequests;
        this.firstCounter = firstCounter;
        this.cursorsAreExact = directory.cursorsAreExact();
        this.lostTo = asking.lostTo();
        this.lostFrom = Math.max(asking.lostFrom(), lostTo - MAX);
        for (CursorSlot slot : directory.cursors().taken()) {
            responsesRead.put(slot.peerId(), slot.responsesIndex());
        }
    }

    /** Positions at which to search the requests to a peer, and its responses. */
    private record ScanStart(Peer peer, long requestsFrom, long responsesFrom) {}

    /** Returns the ids, lowest first. */
    public synchronized long[] find(List<Peer> peers) throws IOException {
        Map<Integer, ScanStart> starts = new HashMap<>();
        for (Peer peer : peers) {
            if (!cursorsAreExact || responsesRead.containsKey(peer.id())) { // it never called the others
                starts.put(peer.id(), start(peer));
            }
        }
        LongHashSet found = new LongHashSet();
        for (long counter = lostFrom; counter < lostTo; counter++) {
            found.add(MessageId.of(directory.id(), counter));
        }
        addOwnRequests(starts, found);
        for (ScanStart start : starts.values()) {
            scanReadable(start, found);
        }
        return sorted(found);
    }

    private void addOwnRequests(Map<Integer, ScanStart> starts, LongHashSet found) throws IOException {
        try {
            addRequests(starts, found);
            MappedFaults.surface();
        } catch (RuntimeException | InternalError e) {
            throw new HomeException(
                    "the requests of worker " + directory.info() + " can't be read: " + HostFailures.describe(e)
                            + "; waybill journal verify says what is damaged",
                    e);
        }
    }

    /**
     * Scans a peer; if its responses can't be read, all calls to it that may have no outcome are returned, and other
     * peers are not affected.
     */
    private void scanReadable(ScanStart start, LongHashSet found) {
        try {
            if (JournalTail.exists(JournalQueue.RESPONSES.in(start.peer().path()))) {
                findResponses(start, found);
                MappedFaults.surface();
            }
        } catch (RuntimeException | InternalError e) {
            LOG.warn(
                    "The responses of worker {} can't be read: calls to it count as unanswered: {}",
                    start.peer(),
                    HostFailures.describe(e));
        }
    }

    private ScanStart start(Peer peer) {
        SafeFiles files = directory.home().host().files();
        long finished = 0;
        long responses = 0;
        try {
            PeerCursors cursors = PeerCursors.open(peer.path(), peer.id(), files);
            PeerCursorSlot slot = cursors.slotFor(directory.id()).orElse(null);
            if (slot != null) {
                finished = slot.requestsCompletedBefore();
                responses = slot.responsesFrom();
            }
            MappedFaults.surface();
        } catch (IOException | InternalError e) {
            finished = 0;
            responses = 0;
            LOG.warn("The cursors of worker {} can't be read: all of its responses are searched", peer, e);
        }
        long read = responsesRead.getOrDefault(peer.id(), 0L);
        // for requests whose files are gone, only the complete responses show which are completed
        long responsesFrom = lostFrom < lostTo ? 0 : Math.max(0, Math.min(responses, read));
        return new ScanStart(peer, Math.max(0, finished), responsesFrom);
    }

    private void addRequests(Map<Integer, ScanStart> starts, LongHashSet found) {
        if (starts.isEmpty()) {
            return;
        }
        long from = starts.values().stream()
                .mapToLong(ScanStart::requestsFrom)
                .min()
                .orElse(0);
        try (JournalTail tail = JournalTail.open(JournalQueue.REQUESTS.in(directory.path()), settings)) {
            moveTo(tail, from);
            Poll poll = tail.poll(buffer, JournalTail.ANY_RECEIVER);
            while (poll != Poll.NONE && found.size() < MAX) {
                if (poll == Poll.RECORD) {
                    if (view.sequence() >= earlierRequests) {
                        return;
                    }
                    ScanStart start = starts.get(view.to());
                    if (start != null && tail.lastIndex() >= start.requestsFrom()) {
                        found.add(view.id());
                    }
                }
                poll = tail.poll(buffer, JournalTail.ANY_RECEIVER);
            }
        }
    }

    /**
     * Scans the responses. A response that was read completes its request; one that was not stands for a request to
     * claim.
     */
    private void findResponses(ScanStart start, LongHashSet found) {
        long read = responsesRead.getOrDefault(start.peer().id(), 0L);
        try (JournalTail tail =
                JournalTail.open(JournalQueue.RESPONSES.in(start.peer().path()), settings)) {
            moveTo(tail, start.responsesFrom());
            for (Poll poll = tail.poll(buffer, directory.id());
                    poll != Poll.NONE;
                    poll = tail.poll(buffer, directory.id())) {
                if (poll != Poll.RECORD || !isOfPreviousIncarnation(view.id())) {
                    continue;
                }
                if (tail.lastIndex() < read) {
                    found.remove(view.id());
                } else if (found.size() < MAX) {
                    found.add(view.id());
                }
            }
        }
    }

    private static long[] sorted(LongHashSet found) {
        long[] ids = new long[found.size()];
        LongHashSet.LongIterator each = found.iterator();
        for (int i = 0; i < ids.length; i++) {
            ids[i] = each.nextValue();
        }
        Arrays.sort(ids);
        return ids;
    }

    private boolean isOfPreviousIncarnation(long id) {
        return MessageId.worker(id) == directory.id() && MessageId.counter(id) < firstCounter;
    }

    private static void moveTo(JournalTail tail, long start) {
        if (start <= 0 || !tail.moveTo(start)) {
            tail.moveToStart();
        }
    }
}
