package io.waybill.api.state;

import java.time.Duration;
import java.util.Objects;

/**
 * Rules by which a {@link StateStore} removes entries by itself.
 *
 * @param maxAge time after which an entry is removed since its value was set; {@link Duration#ZERO} for never
 * @param maxIdle time after which an entry is removed since its value was last set or read; {@link Duration#ZERO} for
 *     never
 * @param whenFull treatment of a new value when the owner's room is used up
 * @param lifetime treatment of the entries when the worker's process ends
 */
public record StatePolicy(Duration maxAge, Duration maxIdle, WhenFull whenFull, Lifetime lifetime) {

    /** Policy that removes no entries, and refuses values when full. */
    public static final StatePolicy KEEP = new StatePolicy(Duration.ZERO, Duration.ZERO, WhenFull.REFUSE);

    /** Treatment of a new value when there is no room. */
    public enum WhenFull {
        /** Refuses the value with a {@link StateFullException}. */
        REFUSE,
        /** Removes the least recently used entries of the same store; refuses the value if that is not enough. */
        EVICT
    }

    /** Lifetime of a store's entries. */
    public enum Lifetime {
        /** The entries end with the incarnation of the worker. */
        INCARNATION,
        /**
         * The entries are kept in a file of the worker, written in the background. After a crash, the next incarnation
         * finds the values that were put more than the setting {@code state.write-interval} earlier, and those before
         * the last {@link StateStore#sync}; after an orderly end, all of them.
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
