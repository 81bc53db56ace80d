package io.waybill.worker.recover;

import io.waybill.api.ErrorCode;
import io.waybill.home.Peer;
import io.waybill.home.cursor.PeerCursors;
import io.waybill.host.Host;
import io.waybill.host.failure.CloseSteps;
import io.waybill.host.failure.HostFailures;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.index.JournalIndex;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.peer.CallErrors;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/** Claims to responses of one peer: searched among the existing responses first, then awaited. Used by one thread. */
final class ResponseWatch implements Closeable {

    /** Result of adding a claim. */
    enum Added {
        COMPLETED,
        AWAITED,
        /** The response exists, and its writer has not confirmed that it is on the disk. */
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

    /** Opens the peer's responses; records appended from here on are not missed. */
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
     * Completes a claim with an existing response, or keeps it until there is one. If the request is to be sent again,
     * only a handler's response counts.
     */
    Added add(OutcomeClaim claim) throws IOException {
        Optional<RecordPosition> position = index.find(JournalQueue.RESPONSES, claim.id());
        if (position.isPresent() && position.get().index() >= cursors.responsesReadableBefore()) {
            return Added.TOO_EARLY;
        }
        boolean responded = position.isPresent()
                && (claim.way() == OutcomeClaim.Way.WAIT
                        || index.record(JournalQueue.RESPONSES).handlerSequence() != 0);
        if (responded) {
            responses.complete(claim, index.record(JournalQueue.RESPONSES), peer.path());
            return Added.COMPLETED;
        }
        open.computeIfAbsent(claim.id(), id -> new ArrayList<>(1)).add(claim);
        return Added.AWAITED;
    }

    boolean isEmpty() {
        return open.isEmpty();
    }

    /** Completes claims whose response has arrived, or whose time has passed. */
    void look(Peer now, long nowNs, long returnLimitNs) {
        readResponses(); // after the check of the peer: one that had ended then writes no more responses
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

    /** Fails all claims when nothing more can be read. */
    void failAll(Consumer<OutcomeClaim> failing) {
        open.values().forEach(claims -> claims.forEach(failing));
        open.clear();
    }

    private void readResponses() {
        tail.readBefore(cursors.responsesReadableBefore());
        for (Poll found = tail.poll(buffer, workerId); found != Poll.NONE; found = tail.poll(buffer, workerId)) {
            List<OutcomeClaim> claims =
                    found == Poll.RECORD && view.type().isResponse() ? open.remove(view.id()) : null;
            if (claims != null) {
                claims.forEach(this::complete);
            }
        }
    }

    /** Completes a claim with a record. The claim waits here no longer, whatever its outcome. */
    private void complete(OutcomeClaim claim) {
        try {
            responses.complete(claim, view, peer.path());
        } catch (RuntimeException | Error e) {
            claim.fail(
                    CallErrors.codeOf(e, ErrorCode.PEER_CORRUPT),
                    "the response can't be read: " + HostFailures.describe(e));
            throw e;
        }
    }

    @Override
    public void close() {
        new CloseSteps().attempt(tail::close).attempt(index::close).finishUnchecked();
    }
}
