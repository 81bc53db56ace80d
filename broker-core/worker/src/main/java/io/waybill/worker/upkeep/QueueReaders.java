package io.waybill.worker.upkeep;

import io.waybill.home.Home;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.WorkerRecord;
import io.waybill.home.cursor.CursorSlot;
import io.waybill.home.cursor.Cursors;
import io.waybill.home.cursor.PeerCursorSlot;
import io.waybill.home.cursor.PeerCursors;
import io.waybill.host.Clock;
import io.waybill.host.failure.HostFailures;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.QueueFile;
import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Determines which files of this worker's queues peers still need, from their read positions in their cursors. A claim
 * to have read beyond the end is ignored.
 *
 * <p>A live peer with which this worker communicates needs the unread part of a queue that it reads. One without a
 * position needs all files since it joined. A peer that ended without leaving may return, and is waited for as long as
 * the settings state; a peer that left is not. No peer is waited for that was {@linkplain Home#forget forgotten}.
 *
 * <p><b>Threads.</b> One.
 */
public final class QueueReaders {

    /** Peers that are considered. */
    enum Which {
        LIVE,
        /** Also peers that ended recently without leaving. */
        LIVE_AND_ABSENT
    }

    /**
     * The oldest file that is needed.
     *
     * @param cycle its number; {@link Integer#MAX_VALUE} when none is
     * @param by the peer that needs it, for messages
     */
    record Need(int cycle, String by) {
        static final Need NONE = new Need(Integer.MAX_VALUE, "");

        Need or(int otherCycle, String other) {
            return otherCycle < cycle ? new Need(otherCycle, other) : this;
        }
    }

    private record Incarnation(int id, long epoch) {}

    private final int ownId;
    private final Cursors own;
    private final boolean cursorsAreExact;
    private final Home home;
    private final Clock clock;
    private final JournalSettings settings;
    private final long absentNs;
    private final Supplier<List<Peer>> peers;
    private final Map<Incarnation, PeerCursors> cursors = new HashMap<>();
    private final Map<Incarnation, Long> deadSinceNs = new HashMap<>();
    private final Set<Incarnation> forgotten = new HashSet<>();

    public QueueReaders(WorkerDirectory own, JournalSettings settings, long absentNs, Supplier<List<Peer>> peers) {
        this.ownId = own.id();
        this.own = own.cursors();
        this.cursorsAreExact = own.cursorsAreExact();
        this.home = own.home();
        this.clock = home.host().clock();
        this.settings = settings;
        this.absentNs = absentNs;
        this.peers = peers;
    }

    /** Reads the list of peers that are present. */
    void look() throws IOException {
        long nowNs = clock.monotonicNs();
        Set<Incarnation> there = new HashSet<>();
        for (Peer peer : peers.get()) {
            Incarnation incarnation = incarnationOf(peer);
            there.add(incarnation);
            if (peer.state() == PeerState.DEAD) {
                deadSinceNs.putIfAbsent(incarnation, nowNs);
            }
            if (home.isForgotten(peer)) {
                forgotten.add(incarnation);
            }
        }
        cursors.keySet().retainAll(there);
        deadSinceNs.keySet().retainAll(there);
        forgotten.retainAll(there);
    }

    private static Incarnation incarnationOf(Peer peer) {
        return new Incarnation(peer.id(), peer.epoch());
    }

    /**
     * Returns the oldest file of a queue that a reader needs.
     *
     * @param files of the queue, oldest first
     * @param newest the number of the file that is being written
     * @throws IOException when this process can't determine it, such as for lack of descriptors
     */
    Need need(JournalQueue queue, List<QueueFile> files, int newest, Which which) throws IOException {
        Need need = Need.NONE;
        for (Peer peer : peers.get()) {
            if (!forgotten.contains(incarnationOf(peer))) {
                int cycle = neededBy(peer, queue, files, newest, which);
                if (queue == JournalQueue.RESPONSES && (peer.state().isThere() || cycle != Integer.MAX_VALUE)) {
                    cycle = Math.min(cycle, ownResponsesTo(peer));
                }
                need = need.or(cycle, peer.name());
            }
        }
        return need;
    }

    private int neededBy(Peer peer, JournalQueue queue, List<QueueFile> files, int newest, Which which)
            throws IOException {
        PeerState state = peer.state();
        if (state == PeerState.DEAD) {
            boolean waitedFor = which == Which.LIVE_AND_ABSENT
                    && clock.monotonicNs() - deadSinceNs.getOrDefault(incarnationOf(peer), 0L) < absentNs;
            PeerCursorSlot slot = waitedFor ? slotOf(peer) : null;
            return slot == null ? Integer.MAX_VALUE : positionOf(slot, queue, newest, Integer.MAX_VALUE);
        }
        if (state == PeerState.LEFT || queue == JournalQueue.REQUESTS && onlyCalls(peer)) {
            return Integer.MAX_VALUE;
        }
        if (cursorsAreExact && !talksWith(peer)) {
            return Integer.MAX_VALUE;
        }
        PeerCursorSlot slot = slotOf(peer);
        if (queue == JournalQueue.RESPONSES && !reads(peer, slot)) {
            return Integer.MAX_VALUE; // it begins at the end when it calls
        }
        int sinceItJoined = writtenSince(joinedAtMs(peer), files);
        return slot == null ? sinceItJoined : positionOf(slot, queue, newest, sinceItJoined);
    }

    /** Returns whether this worker has a slot for a peer in its cursors: it takes one before it writes for the peer. */
    private boolean talksWith(Peer peer) {
        for (CursorSlot slot : own.taken()) {
            if (slot.peerId() == peer.id()) {
                return true;
            }
        }
        return false;
    }

    private static boolean onlyCalls(Peer peer) {
        return peer.record()
                .map(record -> WorkerRecord.CALLS_ONLY.equals(record.settings().get(WorkerRecord.ROLE)))
                .orElse(false);
    }

    /** Returns whether this incarnation of the peer has begun to read; the slot may be an earlier one's. */
    private static boolean reads(Peer peer, PeerCursorSlot slot) {
        return slot != null && (peer.state() == PeerState.UNREADABLE || slot.incarnation() == peer.epoch());
    }

    private int positionOf(PeerCursorSlot slot, JournalQueue queue, int newest, int unknown) {
        boolean requests = queue == JournalQueue.REQUESTS;
        long position = requests ? slot.requestsIndex() : slot.responsesIndex();
        if (position <= 0 || settings.cycleOf(position) > newest) {
            return unknown;
        }
        // a request that it has read and not completed waits for its handler, or is searched for when the peer returns
        long finished = requests ? slot.requestsCompletedBefore() : 0;
        int cycle = settings.cycleOf(position);
        return finished > 0 ? Math.min(cycle, settings.cycleOf(finished)) : cycle;
    }

    /**
     * Returns the oldest file that this worker itself would read after a crash: its responses to the peer's incomplete
     * requests.
     */
    private int ownResponsesTo(Peer peer) {
        for (CursorSlot slot : own.taken()) {
            if (slot.peerId() == peer.id() && slot.responsesFrom() > 0) {
                return settings.cycleOf(slot.responsesFrom());
            }
        }
        return Integer.MAX_VALUE;
    }

    private static long joinedAtMs(Peer peer) {
        return peer.record().map(record -> record.joinedAtMs()).orElse(0L);
    }

    /** Returns the oldest file that was written to since this time. */
    private static int writtenSince(long ms, List<QueueFile> files) {
        for (QueueFile file : files) {
            if (file.lastWrittenMs() >= ms) {
                return file.cycle();
            }
        }
        return Integer.MAX_VALUE;
    }

    /** Returns the peer's cursor slot for this worker; null when there is none. */
    private PeerCursorSlot slotOf(Peer peer) throws IOException {
        try {
            PeerCursors table = cursors.get(incarnationOf(peer));
            if (table == null || table.isCut()) {
                table = PeerCursors.open(peer.path(), peer.id(), home.host().files());
                cursors.put(incarnationOf(peer), table);
            }
            return table.slotFor(ownId).orElse(null);
        } catch (IOException e) {
            if (HostFailures.is(e)) {
                throw e; // the peer may need every file
            }
            return null; // it is starting, or its table can't be read: treated as if it had no position
        }
    }
}
