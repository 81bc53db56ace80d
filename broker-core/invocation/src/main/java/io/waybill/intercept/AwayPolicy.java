package io.waybill.intercept;

import io.waybill.api.intercept.WhenAway;

/** Policy for the messages of an interceptor while its provider is replaced. */
public enum AwayPolicy {
    /** The messages wait for the next version. */
    PARK,
    /** The messages pass without it. */
    PASS;

    /** Parses the value of the service property; see {@link WhenAway}. */
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
