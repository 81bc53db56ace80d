package io.waybill.worker;

import io.waybill.dispatch.HandlerEntry;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs what handlers throw: each distinct place once with its stack, so that a handler that always fails does not fill the disk. Thread-safe. */
final class HandlerErrorLog {

    private static final Logger LOG = LoggerFactory.getLogger(HandlerErrorLog.class);
    private static final int MOST_PLACES = 1000;

    private final Set<String> seen = ConcurrentHashMap.newKeySet();

    void log(HandlerEntry entry, Throwable error) {
        StackTraceElement[] stack = error.getStackTrace();
        String place = error.getClass().getName() + (stack.length > 0 ? stack[0] : "");
        if (seen.size() < MOST_PLACES && seen.add(entry.provider() + place)) {
            LOG.warn(
                    "{} threw while handling {}; further errors from this place are only counted",
                    entry.provider(),
                    entry.key(),
                    error);
        }
    }
}
