package io.waybill.worker.publish;

import io.waybill.worker.peer.PeerLink;

/**
 * Moves the tails over the worker's own queues forward. They are read only while the worker calls itself, and until it
 * has read the requests that earlier incarnations sent to themselves; records for peers would otherwise be a backlog to
 * skip at the next such call. While nothing is written they do not move.
 *
 * <p>Belongs to the holder of the {@link io.waybill.worker.poll.PollPermit}.
 */
public final class SelfTails {
    private static final long INTERVAL_NS = 100_000_000;

    private final QueueAppender requests;
    private final QueueAppender responses;
    private final long requestsOfEarlierEnd; // index after the last one
    private long requestsPassed;
    private long responsesPassed;
    private long nextNs;

    public SelfTails(QueueAppender requests, QueueAppender responses) {
        this.requests = requests;
        this.responses = responses;
        this.requestsOfEarlierEnd = requests.journal().endIndex(); // nothing is appended yet
        this.requestsPassed = requests.journal().size();
        this.responsesPassed = responses.journal().size();
    }

    /**
     * Returns whether the queues need not be read over this link, because it is to the worker itself, which has read
     * all that is for it.
     */
    public boolean rests(PeerLink link) {
        return link.isSelf()
                && link.isQuiet()
                && (!link.reader().readsRequests() || link.reader().position().requestsIndex() >= requestsOfEarlierEnd);
    }

    /** Moves the tails forward if it is time. Call regularly with the time on CLOCK_BOOTTIME. */
    public void forward(PeerLink[] links, long nowNs) {
        if (nowNs < nextNs) {
            return;
        }
        nextNs = nowNs + INTERVAL_NS;
        if (!areResting(links)) {
            return;
        }
        requests.lock(); // no call to itself can be between claim and append
        responses.lock();
        try {
            if (areResting(links)) { // all of them: they share the position in the cursors
                passWritten(links);
            }
        } finally {
            responses.unlock();
            requests.unlock();
        }
    }

    private void passWritten(PeerLink[] links) {
        long requestsNow = requests.journal().size();
        long responsesNow = responses.journal().size();
        for (PeerLink link : links) {
            if (!link.isSelf() || link.isSwept()) {
                continue;
            }
            if (link.reader().readsRequests() && requestsNow != requestsPassed) {
                pass(requests, () -> {
                    link.reader().requests().moveBehind(requests.journal().lastIndex());
                    link.reader().requestsSkipped();
                });
            }
            if (responsesNow != responsesPassed) {
                pass(responses, () -> {
                    link.reader().responses().moveBehind(responses.journal().lastIndex());
                    link.reader().responseRead();
                    link.reader().writeResponsesPosition();
                });
            }
        }
        requestsPassed = requestsNow;
        responsesPassed = responsesNow;
    }

    private static void pass(QueueAppender appender, Runnable move) {
        try {
            move.run();
        } catch (RuntimeException e) { // Chronicle's error: its files contain what this worker has not written
            appender.journal().failDamaged(e);
        }
    }

    private boolean areResting(PeerLink[] links) {
        for (PeerLink link : links) {
            if (link.isSelf() && !link.isSwept() && !rests(link)) {
                return false;
            }
        }
        return true;
    }
}
