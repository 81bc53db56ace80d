package io.waybill.api.admin;

import java.util.Objects;
import java.util.Optional;

/**
 * Trial of the next version of a bundle, which gets a share of the requests while the running version serves the
 * others. A request goes the same way whenever it is sent again or replayed. Immutable.
 *
 * @param percent share of the requests that the patterns match, by their ids; above 0, at most 100
 * @param caller pattern of the names of callers, such as {@code trainer-*}; empty for all
 * @param operation pattern of the keys of handlers, such as {@code text.*}; empty for all
 * @param rollbackIf rule that ends the trial, such as {@code errors>1%} or {@code errors>1% of 500}; empty for none
 */
public record Canary(double percent, Optional<String> caller, Optional<String> operation, Optional<String> rollbackIf) {

    /** Share of a trial whose requests are selected by their callers or operations alone. */
    public static final double ALL_PERCENT = 100;

    public Canary {
        Objects.requireNonNull(caller);
        Objects.requireNonNull(operation);
        Objects.requireNonNull(rollbackIf);
    }

    /** Returns a trial with a share of all requests, until it is ended. */
    public static Canary ofPercent(double percent) {
        return new Canary(percent, Optional.empty(), Optional.empty(), Optional.empty());
    }
}
