package io.waybill.osgi.whiteboard;

import io.waybill.host.Clock;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.osgi.framework.Bundle;

/**
 * Deadlines for draining the services of stopping bundles: all services of a bundle share one drain limit. Thread-safe.
 */
final class DrainLimits {

    private final Duration limit;
    private final Clock clock;
    private final Map<Long, Long> endsNs = new ConcurrentHashMap<>(); // by the id of the stopping bundle

    DrainLimits(Duration limit, Clock clock) {
        this.limit = limit;
        this.clock = clock;
    }

    Duration limit() {
        return limit;
    }

    /** Starts the drain limit of a bundle. */
    void begin(Bundle bundle) {
        endsNs.put(bundle.getBundleId(), clock.monotonicNs() + limit.toNanos());
    }

    /** Clears the drain limit of a bundle that has stopped. */
    void end(Bundle bundle) {
        endsNs.remove(bundle.getBundleId());
    }

    /**
     * Returns the end of a bundle's drain limit, on the monotonic clock: the drain limit from now on if it was not
     * started, for example because the framework stops, or a single service is unregistered.
     */
    long endNs(Bundle bundle) {
        Long endNs = bundle == null ? null : endsNs.get(bundle.getBundleId());
        return endNs == null ? clock.monotonicNs() + limit.toNanos() : endNs;
    }

    /** Returns the remaining time until a deadline; zero if it has passed. */
    Duration until(long endNs) {
        return Duration.ofNanos(Math.max(0, endNs - clock.monotonicNs()));
    }
}
