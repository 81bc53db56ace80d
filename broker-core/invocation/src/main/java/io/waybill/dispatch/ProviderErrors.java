package io.waybill.dispatch;

import io.waybill.host.failure.ForeignErrors;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Count of failures of the code of each bundle or program: it threw something other than a rejection, returned null
 * where that is wrong, or did not return in time. The boundary around that code counts here and logs. Counts are by the
 * provider's name, over all its versions, while the worker runs.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
public final class ProviderErrors {

    private static final Logger LOG = LoggerFactory.getLogger(ProviderErrors.class);
    private static final int MAX_PROVIDERS = 10_000;
    private static final int MAX_LOGGED = 20;

    private final Map<String, AtomicLong> byName = new ConcurrentHashMap<>();

    /** Counts a failure. Allocates nothing after the first one of a provider. */
    public void charge(Provider provider) {
        AtomicLong count = byName.get(provider.name());
        if (count == null && byName.size() < MAX_PROVIDERS) {
            count = byName.computeIfAbsent(provider.name(), name -> new AtomicLong());
        }
        if (count != null) {
            count.incrementAndGet();
        }
    }

    /**
     * Returns a receiver of texts about failures of a provider, with the exception or null. It counts each failure, and
     * logs the first {@value #MAX_LOGGED}.
     */
    public BiConsumer<String, Throwable> reports(Provider provider) {
        AtomicInteger logged = new AtomicInteger();
        return (text, error) -> {
            charge(provider);
            if (logged.get() < MAX_LOGGED && logged.incrementAndGet() <= MAX_LOGGED) {
                ForeignErrors.warn(LOG, provider + ": " + text, error);
            }
        };
    }

    /** Returns the number of failures of a provider. */
    public long of(String providerName) {
        AtomicLong count = byName.get(providerName);
        return count == null ? 0 : count.get();
    }
}
