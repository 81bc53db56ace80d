package io.waybill.injection;

/**
 * Injected behaviour for one request.
 *
 * @param way way in which it is sent
 * @param delayNs delay; 0 unless it is {@link Way#LATE}
 * @param copies number of copies that its receiver gets, unless it is failed or lost
 */
public record Fate(Way way, long delayNs, int copies) {

    /** Way in which a request is sent. */
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
