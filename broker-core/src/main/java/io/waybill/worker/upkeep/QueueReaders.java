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
 * Who still needs which files of this worker's queues, by what the others' cursors say. Each says how far it has read; a claim to have read
 * what was never written is not believed.
 *
 * <p>A live peer needs what it has not read of a queue that it reads. One that has not said how far it is needs what was written since it
 * joined. One that died may come back, and is waited for as long as the settings say; one that left is not. No peer is waited for that was
 * {@linkplain Home#forget forgotten}.
 *
 * <p><b>Threads.</b> One.
 */
public final class QueueReaders {

    /** Which peers are asked. */
    enum Which {
        LIVE,
        /** Also those that died not long ago. */
        LIVE_AND_ABSENT
    }

    /**
     * The oldest file that is needed.
     *
     * @param cycle its number; {@link Integer#MAX_VALUE} when none is
     * @param by who needs it, for people
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
        this.home = own.home();
        this.clock = home.host().clock();
        this.settings = settings;
        this.absentNs = absentNs;
        this.peers = peers;
    }

    /** Looks who is there. */
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
     * The oldest file of a queue that a reader needs.
     *
     * @param files of the queue, oldest first
     * @param newest the number of the file that is being written
     */
    Need need(JournalQueue queue, List<QueueFile> files, int newest, Which which) {
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

    private int neededBy(Peer peer, JournalQueue queue, List<QueueFile> files, int newest, Which which) {
        PeerState state = peer.state();
        if (state == PeerState.DEAD) {
            boolean waitedFor = which == Which.LIVE_AND_ABSENT
                    && clock.monotonicNs() - deadSinceNs.getOrDefault(incarnationOf(peer), 0L) < absentNs;
            PeerCursorSlot slot = waitedFor ? slotOf(peer) : null;
            return slot == null ? Integer.MAX_VALUE : placeOf(slot, queue, newest, Integer.MAX_VALUE);
        }
        if (state == PeerState.LEFT || queue == JournalQueue.REQUESTS && onlyCalls(peer)) {
            return Integer.MAX_VALUE;
        }
        PeerCursorSlot slot = slotOf(peer);
        if (queue == JournalQueue.RESPONSES && !reads(peer, slot)) {
            return Integer.MAX_VALUE; // it begins at the end when it calls
        }
        int sinceItJoined = writtenSince(joinedAtMs(peer), files);
        return slot == null ? sinceItJoined : placeOf(slot, queue, newest, sinceItJoined);
    }

    private static boolean onlyCalls(Peer peer) {
        return peer.record()
                .map(record -> WorkerRecord.CALLS_ONLY.equals(record.settings().get(WorkerRecord.ROLE)))
                .orElse(false);
    }

    /** Whether this incarnation of the peer has begun to read; what is there may be an earlier one's. */
    private static boolean reads(Peer peer, PeerCursorSlot slot) {
        return slot != null && (peer.state() == PeerState.UNREADABLE || slot.incarnation() == peer.epoch());
    }

    private int placeOf(PeerCursorSlot slot, JournalQueue queue, int newest, int unknown) {
        boolean requests = queue == JournalQueue.REQUESTS;
        long position = requests ? slot.requestsIndex() : slot.responsesIndex();
        if (position <= 0 || settings.cycleOf(position) > newest) {
            return unknown;
        }
        // what it has read and not finished waits for its handler, or is looked for when the peer comes back after it
        // died
        long finished = requests ? slot.requestsFinished() : 0;
        int cycle = settings.cycleOf(position);
        return finished > 0 ? Math.min(cycle, settings.cycleOf(finished)) : cycle;
    }

    /** What this worker itself would look at, should it die and return: how it answered the peer what is not finished. */
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

    /** The oldest file that was written to since then. */
    private static int writtenSince(long ms, List<QueueFile> files) {
        for (QueueFile file : files) {
            if (file.lastWrittenMs() >= ms) {
                return file.cycle();
            }
        }
        return Integer.MAX_VALUE;
    }

    /** What the peer says of this worker; null when it has said nothing. */
    private PeerCursorSlot slotOf(Peer peer) {
        try {
            PeerCursors table = cursors.get(incarnationOf(peer));
            if (table == null || table.isCut()) {
                table = PeerCursors.open(peer.path(), peer.id(), home.host().files());
                cursors.put(incarnationOf(peer), table);
            }
            return table.slotFor(ownId).orElse(null);
        } catch (IOException e) {
            return null; // it is only starting, or its table can't be read: as if it had said nothing
        }
    }
}
