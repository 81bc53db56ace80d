package io.waybill.cli.supervise;

import java.time.Duration;

/**
 * Settings for the restart of a node that died. Immutable.
 *
 * @param first wait after the first death; each further death doubles it
 * @param max max wait
 * @param steadyAfter run time after which the wait starts over with {@code first}
 */
public record RestartSettings(Duration first, Duration max, Duration steadyAfter) {

    public static final RestartSettings DEFAULTS =
            new RestartSettings(Duration.ofMillis(200), Duration.ofSeconds(30), Duration.ofSeconds(60));

    public RestartSettings {
        if (first.isNegative() || first.isZero()) {
            throw new IllegalArgumentException("restart.first-wait must be above 0: " + first);
        }
        if (max.compareTo(first) < 0) {
            throw new IllegalArgumentException(
                    "restart.longest-wait must not be below restart.first-wait, " + first + ": " + max);
        }
        if (steadyAfter.isNegative()) {
            throw new IllegalArgumentException("restart.steady-after must be 0 or more: " + steadyAfter);
        }
    }
}
