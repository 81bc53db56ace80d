package io.waybill.home;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Point at which the next worker with an id begins, so that no message id and no incarnation of the id is used twice.
 *
 * @param epoch epoch of the last incarnation that had the id
 * @param counter value above the counters of all message ids that it assigned
 */
record FormerId(long epoch, long counter) {

    static final FormerId NONE = new FormerId(0, 0);
    /**
     * Margin for a worker that was killed, which may have assigned more ids than it noted: ten times a second, and at
     * most 2^24 at once.
     */
    static final long MARGIN = 1L << 25;

    private static final Pattern TEXT = Pattern.compile("([0-9]{1,18})-([0-9]{1,18})");

    /** Parses {@link #text}; empty when it is something else. */
    static Optional<FormerId> parse(String text) {
        Matcher matcher = TEXT.matcher(text);
        return matcher.matches()
                ? Optional.of(new FormerId(Long.parseLong(matcher.group(1)), Long.parseLong(matcher.group(2))))
                : Optional.empty();
    }

    String text() {
        return epoch + "-" + counter;
    }

    FormerId max(FormerId other) {
        return new FormerId(Math.max(epoch, other.epoch), Math.max(counter, other.counter));
    }
}
