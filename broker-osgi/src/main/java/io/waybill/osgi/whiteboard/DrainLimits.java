package io.waybill.osgi.whiteboard;

import io.waybill.host.Clock;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.osgi.framework.Bundle;

/**
 * How long the services of a bundle that stops may drain: all of them together the drain limit. Thread-safe.
 */
final class DrainLimits {

    private final Duration limit;
    private final Clock clock;
    private final Map<Long, Long> endsNs = new ConcurrentHashMap<>(); // by the id of a bundle that stops

    DrainLimits(Duration limit, Clock clock) {
        this.limit = limit;
        this.clock = clock;
    }

    Duration limit() {
        return limit;
    }

    /** Begins the time of a bundle. */
    void begin(Bundle bundle) {
        endsNs.put(bundle.getBundleId(), clock.monotonicNs() + limit.toNanos());
    }

    /** Ends the time of a bundle, which has stopped. */
    void end(Bundle bundle) {
        endsNs.remove(bundle.getBundleId());
    }

    /**
     * Returns when the time of a bundle ends, on the monotonic clock: the drain limit from now on if it has not begun, as when the framework stops all, or
     * one service goes by itself.
     */
    long endNs(Bundle bundle) {
        Long endNs = bundle == null ? null : endsNs.get(bundle.getBundleId());
        return endNs == null ? clock.monotonicNs() + limit.toNanos() : endNs;
    }

    /** Returns the time until then; zero when it has passed. */
    Duration until(long endNs) {
        return Duration.ofNanos(Math.max(0, endNs - clock.monotonicNs()));
    }
}
