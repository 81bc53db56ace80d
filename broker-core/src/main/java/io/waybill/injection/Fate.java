package io.waybill.injection;

/**
 * Injected behaviour for one request.
 *
 * @param way how it is sent
 * @param delayNs how long it is delayed; 0 unless it is {@link Way#LATE}
 * @param copies how often its receiver gets it, unless it is failed or lost
 */
public record Fate(Way way, long delayNs, int copies) {

    /** The way of a request. */
    public enum Way {
        /** Sent at once. */
        SENT,
        /** Failed at once; nothing is sent. */
        FAILED,
        /** Lost: the sender is not notified, and the receiver ignores it. */
        LOST,
        /** Sent after a delay. */
        LATE,
        /** Sent after the next swapped request to the same receiver. */
        SWAPPED
    }

    static final Fate SENT = new Fate(Way.SENT, 0, 1);
    static final Fate FAILED = new Fate(Way.FAILED, 0, 0);
    static final Fate LOST = new Fate(Way.LOST, 0, 0);
}
