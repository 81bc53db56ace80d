package io.waybill.worker.peer;

import io.waybill.host.failure.CloseSteps;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.wire.MessageBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;

/**
 * Reads single requests again that were read before, each peer's through a second tail so that the first keeps its place.
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

    /** Whether the request is still there and whole. */
    public boolean read(PeerLink link, long index, MessageBuffer buffer) {
        JournalTail tail = tails.computeIfAbsent(link, opener);
        return tail.moveTo(index) && tail.poll(buffer, workerId) == Poll.RECORD;
    }

    /** Closes tails that nothing waits for: each holds the file open that it read last. */
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
