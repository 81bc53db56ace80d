package io.waybill.api.state;

import java.time.Duration;
import java.util.Objects;

/**
 * When a {@link StateStore} removes entries by itself.
 *
 * @param maxAge entries are removed so long after their value was set; {@link Duration#ZERO} for never
 * @param maxIdle entries are removed so long after their value was set or read; {@link Duration#ZERO} for never
 * @param whenFull what happens to a new value when the owner's room is used up
 * @param lifetime what happens to the entries when the worker's process ends
 */
public record StatePolicy(Duration maxAge, Duration maxIdle, WhenFull whenFull, Lifetime lifetime) {

    /** Removes nothing, and refuses when full. */
    public static final StatePolicy KEEP = new StatePolicy(Duration.ZERO, Duration.ZERO, WhenFull.REFUSE);

    /** What happens to a new value when there is no room. */
    public enum WhenFull {
        /** It is refused with a {@link StateFullException}. */
        REFUSE,
        /** The least recently used entries of the same store are removed; when that is not enough, it is refused. */
        EVICT
    }

    /** How long a store's entries may live. */
    public enum Lifetime {
        /** They end with the incarnation of the worker. */
        INCARNATION,
        /**
         * They are kept in a file of the worker's, which is written in the background: the next incarnation finds what was put more than
         * the setting {@code state.write-interval} before a crash, and everything after an orderly end.
         */
        ON_DISK
    }

    public StatePolicy {
        Objects.requireNonNull(whenFull);
        Objects.requireNonNull(lifetime);
        if (maxAge.isNegative() || maxIdle.isNegative()) {
            throw new IllegalArgumentException(
                    "the times of a policy are 0 or more: maxAge " + maxAge + ", maxIdle " + maxIdle);
        }
    }

    /** Creates a policy whose entries end with the incarnation. */
    public StatePolicy(Duration maxAge, Duration maxIdle, WhenFull whenFull) {
        this(maxAge, maxIdle, whenFull, Lifetime.INCARNATION);
    }

    /** Returns the same policy with entries that are kept on disk. */
    public StatePolicy onDisk() {
        return new StatePolicy(maxAge, maxIdle, whenFull, Lifetime.ON_DISK);
    }
}
