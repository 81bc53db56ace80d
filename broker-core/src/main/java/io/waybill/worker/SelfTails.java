package io.waybill.worker;

import io.waybill.journal.Journal;
import io.waybill.journal.JournalTail;

/**
 * Keeps the tails over the worker's own queues near their end. They are read only while the worker calls itself; what it writes to others
 * meanwhile would be a backlog to skip at the next such call.
 *
 * <p>Belongs to the holder of the {@link PollPermit}.
 */
final class SelfTails {

    private static final long INTERVAL_NS = 100_000_000;

    private final Lane requests;
    private final Lane responses;
    private long requestsPassed;
    private long responsesPassed;
    private long nextNs;

    SelfTails(Lane requests, Lane responses) {
        this.requests = requests;
        this.responses = responses;
        this.requestsPassed = requests.journal().size();
        this.responsesPassed = responses.journal().size();
    }

    /** To be called now and then with the time on CLOCK_BOOTTIME. */
    void forward(PeerLink[] links, long nowNs) {
        if (nowNs < nextNs) {
            return;
        }
        nextNs = nowNs + INTERVAL_NS;
        for (PeerLink link : links) {
            if (link.isSelf() && link.isQuiet() && !link.isSwept()) {
                forward(link);
            }
        }
    }

    private void forward(PeerLink self) {
        requests.lock(); // no call to itself can be on its way into the queue
        try {
            if (!self.isQuiet()) {
                return;
            }
            if (self.requests() != null) {
                long size = passLast(requests.journal(), requestsPassed, self.placedRequests());
                if (size != requestsPassed) {
                    requestsPassed = size;
                    self.requestsSkipped();
                }
            }
            responses.lock();
            try {
                responsesPassed = passLast(responses.journal(), responsesPassed, self.responses());
            } finally {
                responses.unlock();
            }
        } finally {
            requests.unlock();
        }
    }

    /**
     * Moves behind the last record, when there are more than before: a tail at the end of an empty queue may pass over what comes first.
     *
     * @return how many records there are
     */
    private static long passLast(Journal journal, long passed, JournalTail tail) {
        long size = journal.size();
        if (size != passed) {
            tail.moveBehind(journal.lastIndex());
        }
        return size;
    }
}
