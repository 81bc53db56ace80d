package io.waybill.worker.peer;

/**
 * The requests of one peer that were read and not served: requests that wait for a handler, and requests to which an
 * earlier incarnation of this worker did not respond.
 *
 * <p><b>Threads.</b> Belongs to the holder of the {@link io.waybill.worker.poll.PollPermit}, except where a method
 * states otherwise.
 */
public final class RequestBacklog {

    private static final long[] NONE = {};

    private final UnservedRequests unserved = new UnservedRequests();
    // Written by the thread that created the link and by the recovery, read by the permit's holder and the housekeeper.
    private volatile boolean recovered = true;
    private long[] unanswered = NONE; // read by an earlier incarnation; served in this order
    private int served;

    /** Returns the requests that wait, by position. */
    public UnservedRequests unserved() {
        return unserved;
    }

    /** Blocks serving until {@link #recovered}. By the thread that created the link, before it is polled. */
    public void recovering() {
        recovered = false;
    }

    /** Sets the positions of requests that an earlier incarnation had read without responding. By the recovery. */
    public void recovered(long[] indexes) {
        for (long index : indexes) {
            unserved.add(index);
        }
        unanswered = indexes;
        served = 0;
        recovered = true; // last: a thread that sees it sees the rest
    }

    /** Returns whether the recovery has found the requests without a response. Any thread. */
    public boolean isRecovered() {
        return recovered;
    }

    /** Returns the oldest request to which an earlier incarnation did not respond; -1 when there is none. */
    public long nextUnanswered() {
        return served < unanswered.length ? unanswered[served] : -1;
    }

    /** Removes that request, which is in flight now. */
    public void unansweredTaken() {
        unserved.remove(unanswered[served]);
        if (++served == unanswered.length) {
            unanswered = NONE;
            served = 0;
        }
    }

    /** Returns whether no request waits, and none will be found. */
    boolean isDone() {
        return recovered && unserved.isEmpty();
    }
}
