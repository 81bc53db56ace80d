package io.waybill.worker.recover;

import java.time.Duration;

/**
 * Settings of what happens to calls when a worker ends and returns.
 *
 * @param returnLimit how long calls that may be run again wait for their worker to return; {@link Duration#ZERO} for
 * not at all: they then end with the incarnation that they were sent to
 * @param successionLimit how long, after this worker left in order, calls that it had not begun wait for the next one of its name; {@link Duration#ZERO} for
 * not at all
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
