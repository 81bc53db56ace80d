package io.waybill.worker;

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
    private long nextNs;

    SelfTails(Lane requests, Lane responses) {
        this.requests = requests;
        this.responses = responses;
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
                self.placedRequests().moveToEnd();
                self.requestsSkipped();
            }
            responses.lock();
            try {
                self.responses().moveToEnd();
            } finally {
                responses.unlock();
            }
        } finally {
            requests.unlock();
        }
    }
}
