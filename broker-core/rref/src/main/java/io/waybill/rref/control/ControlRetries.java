package io.waybill.rref.control;

import java.time.Duration;
import java.util.Objects;

/**
 * Retry policy of control messages that were not acknowledged.
 *
 * @param count retries until a request has failed, and until other messages are sent {@code slow}ly
 * @param first wait before the first retry and before the second; each later wait is 1.5 times the previous one
 * @param slow wait after those
 * @param attemptTimeout max wait of an attempt for its acknowledgement; zero for the default timeout of calls, and
 * {@link #ATTEMPT_TIMEOUT_DEFAULT} if that is indefinite
 */
public record ControlRetries(int count, Duration first, Duration slow, Duration attemptTimeout) {

    public static final int MAX = 20;
    public static final Duration ATTEMPT_TIMEOUT_DEFAULT = Duration.ofSeconds(60);
    /** Default policy: five retries, of which the first waits a second, as in PyTorch. */
    public static final ControlRetries DEFAULTS =
            new ControlRetries(5, Duration.ofSeconds(1), Duration.ofSeconds(30), Duration.ZERO);

    private static final double GROWTH = 1.5;

    public ControlRetries {
        Objects.requireNonNull(first);
        Objects.requireNonNull(slow);
        if (count < 0 || count > MAX) {
            throw new IllegalArgumentException("retries must be 0.." + MAX + ": " + count);
        }
        if (first.isNegative() || first.isZero() || slow.isNegative() || slow.isZero()) {
            throw new IllegalArgumentException("the waits between retries must be positive: " + first + ", " + slow);
        }
        if (attemptTimeout.isNegative()) {
            throw new IllegalArgumentException("the timeout of an attempt must not be negative: " + attemptTimeout);
        }
    }

    /**
     * Returns the wait after a number of failures. PyTorch counts a retry after it has computed its wait, so the first
     * wait occurs twice.
     */
    public long waitNs(int failures) {
        return (long) (first.toNanos() * Math.pow(GROWTH, Math.max(0, failures - 1)));
    }

    /** Returns the timeout of an attempt for a default timeout of calls. */
    public Duration attemptTimeout(Duration defaultTimeout) {
        if (!attemptTimeout.isZero()) {
            return attemptTimeout;
        }
        return defaultTimeout.isZero() ? ATTEMPT_TIMEOUT_DEFAULT : defaultTimeout;
    }
}
