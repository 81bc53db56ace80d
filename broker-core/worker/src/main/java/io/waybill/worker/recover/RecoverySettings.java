package io.waybill.worker.recover;

import java.time.Duration;

/**
 * Settings of the recovery of calls when a worker ends and returns.
 *
 * @param returnLimit max time that calls that may be run again wait for their worker to return; {@link Duration#ZERO}
 *     for no wait: they then end with the incarnation that they were sent to
 * @param successionLimit max time that calls that this worker had not begun when it left in order wait for the next
 *     worker of its name; {@link Duration#ZERO} for no wait
 */
public record RecoverySettings(Duration returnLimit, Duration successionLimit) {

    private static final Duration DEFAULT_SUCCESSION = Duration.ofSeconds(5);
    private static final Duration MAX_SUCCESSION = Duration.ofHours(1);

    public static final RecoverySettings DEFAULTS = new RecoverySettings(Duration.ofSeconds(30), DEFAULT_SUCCESSION);

    public RecoverySettings {
        if (returnLimit.isNegative()) {
            throw new IllegalArgumentException("the limit for a worker's return must not be negative: " + returnLimit);
        }
        if (successionLimit.isNegative() || successionLimit.compareTo(MAX_SUCCESSION) > 0) {
            throw new IllegalArgumentException(
                    "the limit for a worker's successor must be 0 to " + MAX_SUCCESSION + ": " + successionLimit);
        }
    }

    /** Creates settings with the default limit for a successor. */
    public RecoverySettings(Duration returnLimit) {
        this(returnLimit, DEFAULT_SUCCESSION);
    }
}
