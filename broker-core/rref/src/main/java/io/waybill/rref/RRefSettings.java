package io.waybill.rref;

import io.waybill.rref.control.ControlRetries;
import java.time.Duration;
import java.util.Objects;

/**
 * Settings of remote references.
 *
 * @param grace max time that forks of an ended worker stay, until forks that it had made are reported
 * @param ownerReturn max time that a reference waits for its ended owner to return with the value; zero for no wait
 * @param memory min time that an ended id is remembered, so that a late message has no effect
 * @param retries retry policy of control messages
 * @param keeping values that outlive the process
 */
public record RRefSettings(
        Duration grace, Duration ownerReturn, Duration memory, ControlRetries retries, Keeping keeping) {

    public static final RRefSettings DEFAULTS = new RRefSettings(
            Duration.ofSeconds(30),
            Duration.ofSeconds(30),
            Duration.ofMinutes(2),
            ControlRetries.DEFAULTS,
            Keeping.ON_REQUEST);

    public RRefSettings {
        Objects.requireNonNull(grace);
        Objects.requireNonNull(ownerReturn);
        Objects.requireNonNull(retries);
        Objects.requireNonNull(keeping);
        if (grace.isNegative() || ownerReturn.isNegative()) {
            throw new IllegalArgumentException(
                    "grace and ownerReturn must not be negative: " + grace + ", " + ownerReturn);
        }
        if (memory.isNegative() || memory.isZero() || memory.compareTo(grace) < 0) {
            throw new IllegalArgumentException(
                    "ids must be remembered for some time, and at least for the grace period of " + grace + ": "
                            + memory);
        }
        if (keeping == Keeping.ALL && grace.isZero()) {
            throw new IllegalArgumentException(
                    "values that are kept need a grace period, in which their users ask for them again: " + grace);
        }
    }

    public RRefSettings withKeeping(Keeping other) {
        return new RRefSettings(grace, ownerReturn, memory, retries, other);
    }
}
