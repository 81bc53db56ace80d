package io.waybill.intercept;

import io.waybill.api.intercept.WhenAway;

/** What happens to the messages of an interceptor while its provider is replaced. */
public enum AwayPolicy {
    /** They wait for the next version. */
    PARK,
    /** They pass without it. */
    PASS;

    /** Reads the value of the service property; see {@link WhenAway}. */
    public static AwayPolicy parse(String text) {
        return switch (text) {
            case WhenAway.PARK -> PARK;
            case WhenAway.PASS -> PASS;
            default ->
                throw new IllegalArgumentException("an interceptor's waybill.when.away is " + WhenAway.PARK + " or "
                        + WhenAway.PASS + ": " + text);
        };
    }
}
