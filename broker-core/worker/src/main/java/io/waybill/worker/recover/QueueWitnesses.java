package io.waybill.worker.recover;

import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.cursor.CursorSlot;
import io.waybill.home.cursor.Cursors;
import io.waybill.home.cursor.PeerCursorSlot;
import io.waybill.home.cursor.PeerCursors;
import io.waybill.home.cursor.QueueNote;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.Roll;
import io.waybill.journal.recover.QueueEvidence;
import io.waybill.journal.recover.QueueEvidence.Claim;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Collects evidence of the ends of a worker's queues before it joined: its own notes, and the read positions of its
 * peers.
 *
 * <p>Used by the thread that joins.
 */
public final class QueueWitnesses {

    private static final Logger LOG = LoggerFactory.getLogger(QueueWitnesses.class);

    private final WorkerDirectory own;
    private final Roll roll;
    private final List<Claim> requests = new ArrayList<>();
    private final List<Claim> responses = new ArrayList<>();
    private final List<Path> peerResponses = new ArrayList<>();

    private QueueWitnesses(WorkerDirectory own, Roll roll) {
        this.own = own;
        this.roll = roll;
    }

    /**
     * Reads the worker's own cursors and the cursors of the workers with which it communicated: of all workers that
     * ever joined its home, if its own do not show exactly which; or of none, if its name is new.
     */
    public static QueueWitnesses hear(WorkerDirectory own, Roll roll) throws IOException {
        QueueWitnesses witnesses = new QueueWitnesses(own, roll);
        Cursors cursors = own.cursors();
        witnesses.addNote(cursors.requests(), witnesses.requests);
        witnesses.addNote(cursors.responses(), witnesses.responses);
        add(witnesses.requests, "what was on the disk", cursors.requestsOnDiskBefore(), 0);
        add(witnesses.responses, "what was on the disk", cursors.responsesOnDiskBefore(), 0);
        for (CursorSlot slot : cursors.taken()) {
            // the response that was the last one when the position was noted
            add(witnesses.responses, "the cursors of this worker", slot.responsesFrom() + 1, 0);
        }
        boolean showsPeers = !own.isAfterBoot() && cursors.origin() == Cursors.Origin.KEPT;
        try (Membership membership = showsPeers ? Membership.present(own.home()) : new Membership(own.home())) {
            if (showsPeers) {
                for (CursorSlot slot : cursors.taken()) {
                    membership.find(slot.peerId()).ifPresent(witnesses::add);
                }
            } else if (!own.isNew()) {
                membership.refresh();
                membership.members().all().forEach(witnesses::add);
            }
        }
        return witnesses;
    }

    public QueueEvidence of(JournalQueue queue) {
        Cursors cursors = own.cursors();
        return queue == JournalQueue.REQUESTS
                ? new QueueEvidence(
                        requests, cursors.nextCounter(), cursors.requests().oldestCycle(), peerResponses, own.id())
                : new QueueEvidence(responses, 0, cursors.responses().oldestCycle(), List.of(), own.id());
    }

    private void addNote(QueueNote note, List<Claim> claims) {
        add(claims, "the note in the cursors of this worker", note.endIndex(), note.nextSequence());
    }

    private static void add(List<Claim> claims, String witness, long endIndex, long nextSequence) {
        if (endIndex > 1) {
            claims.add(new Claim(witness, endIndex, nextSequence));
        }
    }

    private void add(Peer peer) {
        try {
            PeerCursorSlot slot = PeerCursors.open(
                            peer.path(), peer.id(), own.home().host().files())
                    .slotFor(own.id())
                    .orElse(null);
            if (slot != null) {
                String witness = "the cursors of worker " + peer.name() + " (id " + peer.id() + ")";
                add(requests, witness, slot.requestsIndex(), nextSequence(slot));
                add(responses, witness, slot.responsesIndex(), 0);
                peerResponses.add(JournalQueue.RESPONSES.in(peer.path()));
            }
        } catch (IOException e) { // it proves nothing then
            LOG.debug("The cursors of worker {} can't be read", peer, e);
        }
    }

    private long nextSequence(PeerCursorSlot slot) {
        long ofFile = slot.requestsFileSequence();
        return ofFile < 0 ? 0 : ofFile + roll.sequenceInFile(slot.requestsIndex());
    }
}
