package io.waybill.osgi.whiteboard;

import io.waybill.api.policy.BundlePolicy;
import io.waybill.dispatch.Provider;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Bundle policies of a node. A policy that was added is required until its bundle is uninstalled: while it is away, no
 * jar is installed.
 *
 * <p><b>Threads.</b> Any.
 */
public final class BundlePolicies {

    private final Map<List<String>, Required> required = new LinkedHashMap<>(); // guarded by itself
    private final Map<String, Long> forgotten = new HashMap<>(); // by provider; guarded by required

    /**
     * A policy that must allow each jar. Immutable.
     *
     * @param policy null while it is away
     * @param contextClassLoader set for every call of the policy
     * @param inside whether a call of it has not returned yet
     */
    public record Required(
            Provider provider, BundlePolicy policy, ClassLoader contextClassLoader, AtomicBoolean inside) {

        static Required away(Provider provider) {
            return new Required(provider, null, null, new AtomicBoolean());
        }

        public boolean isAway() {
            return policy == null;
        }
    }

    /**
     * Adds a policy, which replaces the one that the provider has under this name. Returns a step that withdraws it.
     *
     * @param asOf what {@link #forgotten} returned before the policy was created: if its bundle was removed meanwhile,
     *     the policy is not added
     */
    Runnable add(Provider provider, String name, BundlePolicy policy, ClassLoader contextClassLoader, long asOf) {
        List<String> key = List.of(provider.name(), name);
        Required added = new Required(provider, policy, contextClassLoader, new AtomicBoolean());
        synchronized (required) {
            if (forgotten.getOrDefault(provider.name(), 0L) == asOf) {
                required.put(key, added);
            }
        }
        return () -> {
            synchronized (required) {
                required.replace(key, added, Required.away(provider));
            }
        };
    }

    /** Requires a policy of a provider whose bundle is away. */
    public void require(Provider provider) {
        synchronized (required) {
            required.putIfAbsent(List.of(provider.name(), ""), Required.away(provider));
        }
    }

    /** Notes that a provider has added all its policies: if it has some, others that it had are no longer required. */
    public void completed(String providerName) {
        synchronized (required) {
            boolean hasSome = required.values().stream().anyMatch(each -> isOf(providerName, each) && !each.isAway());
            if (hasSome) {
                required.values().removeIf(each -> isOf(providerName, each) && each.isAway());
            }
        }
    }

    /** Lifts all policies of a provider: its bundle was uninstalled. */
    public void forget(String providerName) {
        synchronized (required) {
            forgotten.merge(providerName, 1L, Long::sum);
            required.values().removeIf(each -> isOf(providerName, each));
        }
    }

    /** Returns how often the policies of a provider were lifted. */
    long forgotten(String providerName) {
        synchronized (required) {
            return forgotten.getOrDefault(providerName, 0L);
        }
    }

    private static boolean isOf(String providerName, Required policy) {
        return policy.provider().name().equals(providerName);
    }

    /** Returns the policies that must all allow a jar. */
    public List<Required> required() {
        synchronized (required) {
            return new ArrayList<>(required.values());
        }
    }
}
