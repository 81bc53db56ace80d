package io.waybill.broker;

import java.time.Duration;

/**
 * Settings of stores that are kept on disk.
 *
 * @param writeInterval time after a change at which it is written
 * @param maxKeptBytes max bytes of all kept stores of a worker together, as
 * {@link io.waybill.api.state.StateEntry#bytes} counts them
 */
public record StateSettings(Duration writeInterval, long maxKeptBytes) {

    public static final StateSettings DEFAULTS = new StateSettings(Duration.ofSeconds(1), 256L << 20);

    public StateSettings {
        if (writeInterval.isNegative() || writeInterval.isZero()) {
            throw new IllegalArgumentException("the write interval must be positive: " + writeInterval);
        }
        if (maxKeptBytes < 0) {
            throw new IllegalArgumentException("the bytes of kept stores must be 0 or more: " + maxKeptBytes);
        }
    }
}
