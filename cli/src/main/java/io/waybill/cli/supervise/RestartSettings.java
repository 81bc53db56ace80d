package io.waybill.cli.supervise;

import java.time.Duration;

/**
 * How soon a node that died is started again. Immutable.
 *
 * @param first the wait after the first death; each further one doubles it
 * @param max no wait is longer
 * @param steadyAfter a node that ran so long starts over with {@code first}
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
