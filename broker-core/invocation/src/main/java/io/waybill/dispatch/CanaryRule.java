package io.waybill.dispatch;

import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Rule that says which requests the next version of a bundle gets while the running one serves the others. It depends
 * on the request alone, so a request that is sent again, or replayed, goes the same way. Immutable.
 */
public final class CanaryRule {

    private static final double ALL = 100;
    private static final long MIX_1 = 0xff51afd7ed558ccdL;
    private static final long MIX_2 = 0xc4ceb9fe1a85ec53L;
    private static final int SHARE_BITS = 53; // as many as a double has

    private final long limit; // of the first bits of an id's hash
    private final Optional<Pattern> caller;
    private final Optional<Pattern> key;

    /**
     * @param percent share of the requests that the patterns match; above 0, at most 100
     * @param caller pattern of names of callers, with {@code *}; empty for all
     * @param key pattern of keys of handlers, with {@code *}; empty for all
     * @throws IllegalArgumentException when the share is out of bounds
     */
    public CanaryRule(double percent, Optional<String> caller, Optional<String> key) {
        if (!(percent > 0 && percent <= ALL)) {
            throw new IllegalArgumentException(
                    "the share of a canary: expected more than 0% and at most 100%, found " + percent + "%");
        }
        this.limit = (long) (percent / ALL * (1L << SHARE_BITS));
        this.caller = caller.map(CanaryRule::pattern);
        this.key = key.map(CanaryRule::pattern);
    }

    private static Pattern pattern(String text) {
        return Pattern.compile("\\Q" + text.replace("*", "\\E.*\\Q") + "\\E");
    }

    /** Returns whether requests of a handler's key may go to the next version. */
    boolean concerns(HandlerKey handled) {
        return key.isEmpty() || key.get().matcher(handled.text()).matches();
    }

    /** Returns whether a request goes to the next version. */
    public boolean selects(long id, String callerName) {
        return mix(id) >>> (Long.SIZE - SHARE_BITS) < limit
                && (caller.isEmpty() || caller.get().matcher(callerName).matches());
    }

    /** Spreads ids, which are counters, over all numbers: the last step of MurmurHash3. */
    private static long mix(long id) {
        long hash = (id ^ id >>> 33) * MIX_1;
        hash = (hash ^ hash >>> 33) * MIX_2;
        return hash ^ hash >>> 33;
    }
}
