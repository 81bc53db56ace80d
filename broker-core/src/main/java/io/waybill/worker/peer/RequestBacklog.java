package io.waybill.worker.peer;

/**
 * The requests of one peer that were read and not served: those that wait for a handler, and those that an earlier incarnation of this
 * worker left without a response.
 *
 * <p><b>Threads.</b> Belongs to the holder of the {@link io.waybill.worker.poll.PollPermit}, except where a method says otherwise.
 */
public final class RequestBacklog {

    private static final long[] NONE = {};

    private final UnservedRequests unserved = new UnservedRequests();
    // Written by the thread that made the link and by the recovery, read by the permit's holder and the housekeeper.
    private volatile boolean recovered = true;
    private long[] unanswered = NONE; // by an earlier incarnation; served in this order
    private int served;

    /** Requests that wait, by their positions. */
    public UnservedRequests unserved() {
        return unserved;
    }

    /** No request is served until {@link #recovered}. By the thread that made the link, before it is polled. */
    public void recovering() {
        recovered = false;
    }

    /** An earlier incarnation had read the requests at these positions and not responded to them. By the recovery. */
    public void recovered(long[] indexes) {
        for (long index : indexes) {
            unserved.add(index);
        }
        unanswered = indexes;
        served = 0;
        recovered = true; // last: a thread that sees it sees the rest
    }

    /** Whether it is known what an earlier incarnation left without a response. Any thread. */
    public boolean isRecovered() {
        return recovered;
    }

    /** The oldest request that an earlier incarnation left without a response; -1 when there is none. */
    public long nextUnanswered() {
        return served < unanswered.length ? unanswered[served] : -1;
    }

    /** That request is in flight now. */
    public void unansweredTaken() {
        unserved.remove(unanswered[served]);
        if (++served == unanswered.length) {
            unanswered = NONE;
            served = 0;
        }
    }

    /** Whether no request waits, and none will be found. */
    boolean isDone() {
        return recovered && unserved.isEmpty();
    }
}
