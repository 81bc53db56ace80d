package io.waybill.worker.upkeep;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Interval in which a worker that requested a joint shutdown was idle.
 *
 * @param sinceNs on CLOCK_BOOTTIME
 * @param untilNs of the last check
 */
record IdleInterval(long sinceNs, long untilNs) {

    /** Key under which a worker publishes it. */
    static final String SHOWN = "leaving";

    /** Value that a worker publishes when the work of all has ended. */
    static final String ENDED = "ended";

    /** The empty interval. */
    static final IdleInterval BUSY = new IdleInterval(Long.MAX_VALUE, Long.MIN_VALUE);

    private static final String BUSY_TEXT = "busy";
    private static final Pattern FORM = Pattern.compile("quiet ([0-9]{1,18}) ([0-9]{1,18})");

    /** Parses a published value; anything else than an interval is empty. */
    static IdleInterval of(String text) {
        Matcher parts = FORM.matcher(text);
        return parts.matches()
                ? new IdleInterval(Long.parseLong(parts.group(1)), Long.parseLong(parts.group(2)))
                : BUSY;
    }

    /** Formats the value to publish. */
    String text() {
        return equals(BUSY) ? BUSY_TEXT : "quiet " + sinceNs + " " + untilNs;
    }
}
