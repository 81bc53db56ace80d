package io.waybill.dispatch;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How often code of each bundle or program failed: it threw something other than a rejection, returned null where that is wrong, or did not
 * return in time. The boundary around that code counts here and logs. Counts are by the provider's name, over all its versions, while the worker runs.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
public final class ProviderErrors {

    private static final int MAX_PROVIDERS = 10_000;

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

    /** Returns the number of failures of a provider. */
    public long of(String providerName) {
        AtomicLong count = byName.get(providerName);
        return count == null ? 0 : count.get();
    }
}
