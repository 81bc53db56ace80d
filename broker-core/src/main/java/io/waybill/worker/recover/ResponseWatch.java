package io.waybill.worker.recover;

import io.waybill.api.ErrorCode;
import io.waybill.home.Peer;
import io.waybill.home.cursor.PeerCursors;
import io.waybill.host.Host;
import io.waybill.host.failure.CloseSteps;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.index.JournalIndex;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The claims to answers of one peer: first looked for among what it has answered, then awaited. Used by one thread.
 */
final class ResponseWatch implements Closeable {

    /** What became of a claim that was added. */
    enum Added {
        SETTLED,
        AWAITED,
        /** The response is there, and its writer has not said yet that it is on the disk. */
        TOO_EARLY
    }

    private final Peer peer;
    private final PeerCursors cursors;
    private final int workerId;
    private final JournalTail tail;
    private final JournalIndex index;
    private final StoredResponse responses;
    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView view = new RecordView(buffer);
    private final Map<Long, List<OutcomeClaim>> open = new HashMap<>();

    /** What is appended from here on is not missed. */
    ResponseWatch(Peer peer, int workerId, JournalSettings settings, Host host, StoredResponse responses)
            throws IOException {
        this.peer = peer;
        this.cursors = PeerCursors.open(peer.path(), peer.id(), host.files());
        this.workerId = workerId;
        this.responses = responses;
        this.tail = JournalTail.open(JournalQueue.RESPONSES.in(peer.path()), settings);
        try {
            this.tail.moveToEnd();
            this.index = JournalIndex.open(peer.path(), settings, host);
        } catch (RuntimeException | Error e) {
            tail.close();
            throw e;
        }
    }

    /**
     * Settles a claim with what the peer has answered, or keeps it until it does. Where the peer is asked again, only a handler's response
     * counts.
     *
     */
    Added add(OutcomeClaim claim) throws IOException {
        Optional<RecordPosition> place = index.find(JournalQueue.RESPONSES, claim.id());
        if (place.isPresent() && place.get().index() >= cursors.responsesReadableBefore()) {
            return Added.TOO_EARLY;
        }
        boolean responded = place.isPresent()
                && (claim.way() == OutcomeClaim.Way.WAIT
                        || index.record(JournalQueue.RESPONSES).handlerSequence() != 0);
        if (responded) {
            responses.settle(claim, index.record(JournalQueue.RESPONSES), peer.path());
            return Added.SETTLED;
        }
        open.computeIfAbsent(claim.id(), id -> new ArrayList<>(1)).add(claim);
        return Added.AWAITED;
    }

    boolean isEmpty() {
        return open.isEmpty();
    }

    /** Settles what was answered since, and what is over. */
    void look(Peer now, long nowNs, long returnLimitNs) {
        readAnswers(); // behind the look at the peer: one that was gone then answers no more
        open.values().removeIf(claims -> {
            claims.removeIf(claim -> isOver(claim, now, nowNs, returnLimitNs));
            return claims.isEmpty();
        });
    }

    private boolean isOver(OutcomeClaim claim, Peer now, long nowNs, long returnLimitNs) {
        if (claim.isOver(nowNs, peer.name())) {
            return true;
        }
        if (now.state().isThere()) {
            claim.peerIsThere();
            return false;
        }
        return claim.endsWithPeer(nowNs, returnLimitNs, peer.name());
    }

    /** Nothing more is read. */
    void failAll(Consumer<OutcomeClaim> failing) {
        open.values().forEach(claims -> claims.forEach(failing));
        open.clear();
    }

    private void readAnswers() {
        tail.readBefore(cursors.responsesReadableBefore());
        for (Poll found = tail.poll(buffer, workerId); found != Poll.NONE; found = tail.poll(buffer, workerId)) {
            List<OutcomeClaim> claims =
                    found == Poll.RECORD && view.type().isResponse() ? open.remove(view.id()) : null;
            if (claims != null) {
                claims.forEach(this::settle);
            }
        }
    }

    /** It waits here no more: whatever happens is its outcome. */
    private void settle(OutcomeClaim claim) {
        try {
            responses.settle(claim, view, peer.path());
        } catch (RuntimeException | Error e) {
            claim.fail(ErrorCode.PEER_CORRUPT, "the answer can't be read: " + e);
            throw e;
        }
    }

    @Override
    public void close() {
        new CloseSteps().attempt(tail::close).attempt(index::close).finishUnchecked();
    }
}
