package io.waybill.worker.serve;

import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.ProviderErrors;
import io.waybill.exchange.HandlerErrors;
import io.waybill.exchange.RequestSource;
import io.waybill.host.failure.ForeignErrors;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts and logs the exceptions of handlers: each distinct place once with its stack, so that a handler that always
 * fails does not fill the disk. Thread-safe.
 */
final class HandlerErrorLog implements HandlerErrors {

    private static final Logger LOG = LoggerFactory.getLogger(HandlerErrorLog.class);
    private static final int MAX_PLACES = 1000;

    private final ProviderErrors errors;
    private final Set<String> seen = ConcurrentHashMap.newKeySet();

    HandlerErrorLog(ProviderErrors errors) {
        this.errors = errors;
    }

    @Override
    public void threw(HandlerEntry entry, RequestSource request, Throwable error) {
        errors.charge(entry.provider());
        if (isNew(entry, error)) {
            String text = entry.provider() + " threw while handling "
                    + entry.key().text() + ", " + request + "; further errors from this place are only counted";
            ForeignErrors.warn(LOG, text, error);
        }
    }

    @Override
    public void noResponse(HandlerEntry entry) {
        errors.charge(entry.provider());
    }

    @Override
    public void notReleased(HandlerEntry entry, Throwable error) {
        errors.charge(entry.provider());
        if (isNew(entry, error)) {
            String text = "A storage could not be given back after " + entry.provider() + " handled "
                    + entry.key().text()
                    + ": it threw, or its counts were given back before; a tensor of the request needs one more, by"
                    + " retain(), before it is put into a response. Further errors from this place are not logged";
            ForeignErrors.warn(LOG, text, error);
        }
    }

    private boolean isNew(HandlerEntry entry, Throwable error) {
        return seen.size() < MAX_PLACES && seen.add(entry.provider() + " " + entry.key() + locationOf(error));
    }

    private static String locationOf(Throwable error) {
        String type = error.getClass().getName();
        try {
            StackTraceElement[] stack = error.getStackTrace();
            return stack.length > 0 ? type + stack[0] : type;
        } catch (Throwable e) { // a bundle's exception, whose methods are foreign code
            return type;
        }
    }
}
