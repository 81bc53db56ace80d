package io.waybill.api.state;

import java.time.Duration;
import java.util.Objects;

/**
 * When a {@link StateStore} removes entries by itself.
 *
 * @param maxAge entries are removed so long after their value was set; {@link Duration#ZERO} for never
 * @param maxIdle entries are removed so long after their value was set or read; {@link Duration#ZERO} for never
 * @param whenFull what happens to a new value when the owner's room is used up
 */
public record StatePolicy(Duration maxAge, Duration maxIdle, WhenFull whenFull) {

    /** Removes nothing, and refuses when full. */
    public static final StatePolicy KEEP = new StatePolicy(Duration.ZERO, Duration.ZERO, WhenFull.REFUSE);

    /** What happens to a new value when there is no room. */
    public enum WhenFull {
        /** It is refused with a {@link StateFullException}. */
        REFUSE,
        /** The least recently used entries of the same store are removed; when that is not enough, it is refused. */
        EVICT
    }

    public StatePolicy {
        Objects.requireNonNull(whenFull);
        if (maxAge.isNegative() || maxIdle.isNegative()) {
            throw new IllegalArgumentException(
                    "the times of a policy are 0 or more: maxAge " + maxAge + ", maxIdle " + maxIdle);
        }
    }
}
