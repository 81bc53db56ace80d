package io.waybill.worker;

import io.waybill.home.Peer;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.JournalTail;
import io.waybill.journal.Poll;
import io.waybill.journal.index.JournalIndex;
import io.waybill.host.Host;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The claims to answers of one peer: first looked for among what it has answered, then awaited. Used by one thread.
 */
final class AnswerWatch implements Closeable {

    private final Peer peer;
    private final int workerId;
    private final JournalTail tail;
    private final JournalIndex index;
    private final StoredAnswer answers;
    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView view = new RecordView(buffer);
    private final Map<Long, List<Claim>> open = new HashMap<>();

    /** What is appended from here on is not missed. */
    AnswerWatch(Peer peer, int workerId, JournalSettings settings, Host host, StoredAnswer answers) {
        this.peer = peer;
        this.workerId = workerId;
        this.answers = answers;
        this.tail = JournalTail.open(JournalQueue.RESPONSES.in(peer.path()), settings);
        this.tail.moveToEnd();
        this.index = JournalIndex.open(peer.path(), settings, host);
    }

    /** Settles a claim with what the peer has answered, or keeps it until it does. */
    void add(Claim claim) throws IOException {
        if (index.find(JournalQueue.RESPONSES, claim.id()).isPresent()) {
            answers.settle(claim, index.record(JournalQueue.RESPONSES), peer.path());
        } else {
            open.computeIfAbsent(claim.id(), id -> new ArrayList<>(1)).add(claim);
        }
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

    private boolean isOver(Claim claim, Peer now, long nowNs, long returnLimitNs) {
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
    void failAll(Consumer<Claim> failing) {
        open.values().forEach(claims -> claims.forEach(failing));
        open.clear();
    }

    private void readAnswers() {
        for (Poll found = tail.poll(buffer, workerId); found != Poll.NONE; found = tail.poll(buffer, workerId)) {
            List<Claim> claims = found == Poll.RECORD && view.type().isResponse() ? open.remove(view.id()) : null;
            if (claims != null) {
                claims.forEach(claim -> answers.settle(claim, view, peer.path()));
            }
        }
    }

    @Override
    public void close() {
        tail.close();
        index.close();
    }
}
