package io.waybill.injection;

/**
 * What becomes of one request.
 *
 * @param way it goes
 * @param delayNs how long it is kept back before it goes; 0 unless it is {@link Way#LATE}
 * @param copies how often its receiver gets it, unless it is failed or lost
 */
public record Fate(Way way, long delayNs, int copies) {

    /** The way of a request. */
    public enum Way {
        /** It goes to its receiver at once. */
        SENT,
        /** Its sender is told at once that it failed, and nothing goes out. */
        FAILED,
        /** Its sender hears nothing, and its receiver does nothing. */
        LOST,
        /** It goes after a while. */
        LATE,
        /** It goes behind the next one to the same receiver that is swapped. */
        SWAPPED
    }

    static final Fate SENT = new Fate(Way.SENT, 0, 1);
    static final Fate FAILED = new Fate(Way.FAILED, 0, 0);
    static final Fate LOST = new Fate(Way.LOST, 0, 0);
}
