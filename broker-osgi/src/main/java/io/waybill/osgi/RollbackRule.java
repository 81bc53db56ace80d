package io.waybill.osgi;

import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Rule that ends the trial of a bundle's next version: {@code errors>1%}, or {@code errors>1% of 500}. Immutable.
 *
 * @param percent share of failed requests that is still accepted
 * @param minimum number of ended requests from which on the share counts
 */
record RollbackRule(double percent, long minimum) {

    private static final Pattern SYNTAX =
            Pattern.compile("\\s*errors\\s*>\\s*(\\d{1,3}(?:\\.\\d{1,6})?)\\s*%(?:\\s+of\\s+(\\d{1,9}))?\\s*");
    private static final long DEFAULT_MINIMUM = 200;
    private static final double ALL = 100;

    /** @throws IllegalArgumentException if it is no rule */
    static RollbackRule parse(String text) {
        Matcher matcher = SYNTAX.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("a rule for the end of a canary: expected errors>PERCENT%, or"
                    + " errors>PERCENT% of REQUESTS, found " + text);
        }
        long minimum = matcher.group(2) == null ? DEFAULT_MINIMUM : Long.parseLong(matcher.group(2));
        return new RollbackRule(Double.parseDouble(matcher.group(1)), Math.max(1, minimum));
    }

    /** Returns why the trial ends; empty if it does not. */
    Optional<String> broken(long done, long failed) {
        long ended = done + failed;
        if (ended < minimum || failed * ALL <= percent * ended) {
            return Optional.empty();
        }
        return Optional.of(String.format(
                Locale.ROOT,
                "%d of its %d requests failed, %.2f%%, and the rule is %s",
                failed,
                ended,
                failed * ALL / ended,
                this));
    }

    @Override
    public String toString() {
        return String.format(Locale.ROOT, "errors>%s%% of %d", percent, minimum);
    }
}
