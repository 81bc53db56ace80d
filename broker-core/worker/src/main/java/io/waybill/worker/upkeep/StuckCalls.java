package io.waybill.worker.upkeep;

import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.StuckSettings;
import io.waybill.event.CallListeners;
import io.waybill.worker.metrics.WorkerCounters;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts the stuck calls of each handler. A handler with too many is out of service until some return.
 *
 * <p><b>Threads.</b> The housekeeper's.
 */
public final class StuckCalls {

    private static final Logger LOG = LoggerFactory.getLogger(StuckCalls.class);

    private final StuckSettings settings;
    private final HandlerRegistry registry;
    private final WorkerCounters counters;

    public StuckCalls(StuckSettings settings, HandlerRegistry registry, WorkerCounters counters) {
        this.settings = settings;
        this.registry = registry;
        this.counters = counters;
    }

    StuckSettings settings() {
        return settings;
    }

    /** Returns the listeners for events of calls, which may be stuck as well. */
    CallListeners events() {
        return registry.events();
    }

    /**
     * Counts a stuck call of this handler. Returns whether it is to be logged and its thread replaced: up to a limit.
     */
    boolean add(HandlerEntry entry) {
        counters.countStuck();
        registry.errors().charge(entry.provider());
        int stuck = entry.countStuck(1);
        if (stuck >= settings.maxPerHandler() && !entry.isOutOfService() && mayBeOutOfService(entry)) {
            entry.outOfService(true);
            LOG.error(
                    "{} is out of service: {} requests are stuck in {}; new ones are refused until some come back,"
                            + " or the bundle is updated or restarted",
                    entry.key().text(),
                    stuck,
                    entry.provider());
            registry.serviceChanged();
        }
        return stuck <= settings.maxPerHandler();
    }

    /** Removes a call of this handler that returned. */
    void remove(HandlerEntry entry) {
        boolean few = entry.countStuck(-1) < settings.maxPerHandler();
        if (few && entry.isOutOfService() && !entry.isGivenUp()) {
            entry.outOfService(false);
            LOG.info("{} is in service again", entry.key().text());
            registry.serviceChanged();
        }
    }

    /**
     * Returns whether a handler can be put out of service: not the node's own operations, which an operator needs to
     * fix the others.
     */
    private static boolean mayBeOutOfService(HandlerEntry entry) {
        return !(entry.key() instanceof HandlerKey.OfControl);
    }
}
