package io.waybill.rref;

import java.time.Duration;
import java.util.Objects;

/**
 * Settings of remote references.
 *
 * @param grace how long forks of a worker that died stay, for forks that it had made to become known
 * @param ownerReturn how long a reference waits for its owner that died to come back with the value; zero for not at all
 * @param memory how long an id that came to its end is remembered, so that a message that comes late does nothing
 * @param slowRetry the wait between attempts after the first six
 */
public record RRefSettings(Duration grace, Duration ownerReturn, Duration memory, Duration slowRetry) {

    public static final RRefSettings DEFAULTS = new RRefSettings(
            Duration.ofSeconds(30), Duration.ofSeconds(30), Duration.ofMinutes(2), Duration.ofSeconds(30));

    public RRefSettings {
        Objects.requireNonNull(grace);
        Objects.requireNonNull(ownerReturn);
        if (grace.isNegative() || ownerReturn.isNegative()) {
            throw new IllegalArgumentException(
                    "grace and ownerReturn must not be negative: " + grace + ", " + ownerReturn);
        }
        if (memory.isNegative() || memory.isZero() || slowRetry.isNegative() || slowRetry.isZero()) {
            throw new IllegalArgumentException("memory and slowRetry must be positive: " + memory + ", " + slowRetry);
        }
    }
}
