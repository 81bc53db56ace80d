package io.waybill.worker.recover;

import java.time.Duration;

/**
 * Settings of what happens to calls when a worker ends and returns.
 *
 * @param returnLimit how long calls that may be run again wait for their worker to return; {@link Duration#ZERO} for
 * not at all: they then end with the incarnation that they were sent to
 */
public record RecoverySettings(Duration returnLimit) {

    public static final RecoverySettings DEFAULTS = new RecoverySettings(Duration.ofSeconds(30));

    public RecoverySettings {
        if (returnLimit.isNegative()) {
            throw new IllegalArgumentException("the limit for a worker's return must not be negative: " + returnLimit);
        }
    }
}
