package io.waybill.dispatch;

/**
 * Result of waiting for a handler's running requests.
 *
 * @param stillRunning number of requests that had not ended at the limit
 */
public record Drained(long stillRunning) {

    /** Result when all requests had ended. */
    public static final Drained DRAINED = new Drained(0);

    public static Drained timedOut(long stillRunning) {
        return new Drained(stillRunning);
    }

    public boolean isComplete() {
        return stillRunning == 0;
    }
}
