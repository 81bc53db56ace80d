package io.waybill.dispatch;

/**
 * What came of waiting for a handler's running requests.
 *
 * @param stillRunning how many had not ended when the limit was reached
 */
public record Drained(long stillRunning) {

    /** All had ended. */
    public static final Drained DRAINED = new Drained(0);

    public static Drained timedOut(long stillRunning) {
        return new Drained(stillRunning);
    }

    public boolean isComplete() {
        return stillRunning == 0;
    }
}
