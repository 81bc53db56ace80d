package io.waybill.worker.peer;

import io.waybill.host.failure.CloseSteps;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.wire.MessageBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;

/**
 * Reads single requests a second time, through one more tail for each peer, so that the first keeps its position.
 *
 * <p>Belongs to the holder of the {@link io.waybill.worker.poll.PollPermit}.
 */
public final class RereadTails {

    private final int workerId;
    private final Function<PeerLink, JournalTail> opener;
    private final Map<PeerLink, JournalTail> tails = new HashMap<>();

    public RereadTails(int workerId, Function<PeerLink, JournalTail> opener) {
        this.workerId = workerId;
        this.opener = opener;
    }

    /** Reads a request. Returns whether it still exists and is undamaged. */
    public boolean read(PeerLink link, long index, MessageBuffer buffer) {
        JournalTail tail = tails.computeIfAbsent(link, opener);
        return tail.moveTo(index)
                && tail.poll(buffer, workerId) == Poll.RECORD
                && tail.lastIndex() == index; // the tail passes removed files, and records whose receiver was changed
    }

    /** Closes unused tails: each keeps a file open. */
    public void closeIdle() {
        if (!tails.isEmpty()) {
            tails.entrySet().removeIf(tail -> {
                boolean idle = tail.getKey().backlog().unserved().isEmpty();
                if (idle) {
                    tail.getValue().close();
                }
                return idle;
            });
        }
    }

    /** Closes the tail of a peer that is no longer linked. */
    public void close(PeerLink link) {
        JournalTail tail = tails.remove(link);
        if (tail != null) {
            tail.close();
        }
    }

    public void closeAll() {
        CloseSteps steps = new CloseSteps();
        tails.values().forEach(tail -> steps.attempt(tail::close));
        tails.clear();
        steps.finishUnchecked();
    }
}
