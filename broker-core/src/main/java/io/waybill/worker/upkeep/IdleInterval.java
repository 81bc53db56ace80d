package io.waybill.worker.upkeep;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A time for which a worker that asked to leave saw nothing under way at it.
 *
 * @param sinceNs on CLOCK_BOOTTIME
 * @param untilNs when it looked last
 */
record IdleInterval(long sinceNs, long untilNs) {

    /** Under which a worker shows it. */
    static final String SHOWN = "leaving";

    /** What it shows when the work of all has ended. */
    static final String ENDED = "ended";

    /** No time at all. */
    static final IdleInterval BUSY = new IdleInterval(Long.MAX_VALUE, Long.MIN_VALUE);

    private static final String BUSY_TEXT = "busy";
    private static final Pattern FORM = Pattern.compile("quiet ([0-9]{1,18}) ([0-9]{1,18})");

    /** Reads what a worker shows; anything else than a time is none. */
    static IdleInterval of(String text) {
        Matcher parts = FORM.matcher(text);
        return parts.matches()
                ? new IdleInterval(Long.parseLong(parts.group(1)), Long.parseLong(parts.group(2)))
                : BUSY;
    }

    /** What a worker shows. */
    String text() {
        return equals(BUSY) ? BUSY_TEXT : "quiet " + sinceNs + " " + untilNs;
    }
}
