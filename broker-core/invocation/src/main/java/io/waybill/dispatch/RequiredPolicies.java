package io.waybill.dispatch;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Policies of one kind, each required from when it was added until its bundle is uninstalled: while it is away, what it
 * decides about waits or is refused.
 *
 * <p><b>Threads.</b> Any.
 *
 * @param <P> a policy, or the known facts about it while it is away
 */
public final class RequiredPolicies<P extends RequiredPolicies.Policy<P>> {

    private final Map<List<String>, P> required = new LinkedHashMap<>(); // guarded by itself
    private final Map<String, Long> forgotten = new HashMap<>(); // by provider; guarded by required
    private final Consumer<List<P>> changed;

    /**
     * A policy that must allow each request or jar.
     *
     * @param <P> the type itself
     */
    public interface Policy<P> {

        Provider provider();

        /** Returns whether its bundle was stopped, is being updated, or did not start. */
        boolean isAway();

        /** Returns the known facts about this policy, which is away from now on. */
        P away();
    }

    /** @param changed receives all policies after each change, in the order of the changes; must be quick */
    public RequiredPolicies(Consumer<List<P>> changed) {
        this.changed = changed;
    }

    /**
     * Adds a policy, which replaces the one that its provider has under this name.
     *
     * @param asOf what {@link #forgotten} returned before the policy was created: if its bundle was removed meanwhile,
     *     the policy is not added, and that of another version of the bundle stays
     */
    public void add(String name, P policy, long asOf) {
        String providerName = policy.provider().name();
        change(() -> {
            if (forgotten.getOrDefault(providerName, 0L) == asOf) {
                required.put(List.of(providerName, name), policy);
            }
        });
    }

    /** Withdraws a policy that was added under this name, unless another one replaced it. It remains required. */
    public void withdraw(String name, P policy) {
        List<String> key = List.of(policy.provider().name(), name);
        change(() -> {
            if (required.get(key) == policy) { // not equals, which is foreign code
                required.put(key, policy.away());
            }
        });
    }

    /** Lifts the policy that a provider has under this name. */
    public void remove(String providerName, String name) {
        change(() -> required.remove(List.of(providerName, name)));
    }

    /** Requires a policy of a provider whose bundle is away, unless the provider has one. */
    public void require(P away) {
        change(() -> required.putIfAbsent(List.of(away.provider().name(), ""), away));
    }

    /** Notes that a provider has added all its policies: if it has some, others that it had are no longer required. */
    public void completed(String providerName) {
        change(() -> {
            boolean hasSome = required.values().stream().anyMatch(each -> isOf(providerName, each) && !each.isAway());
            if (hasSome) {
                required.values().removeIf(each -> isOf(providerName, each) && each.isAway());
            }
        });
    }

    /** Lifts all policies of a provider: its bundle was uninstalled. */
    public void forget(String providerName) {
        change(() -> {
            forgotten.merge(providerName, 1L, Long::sum);
            required.values().removeIf(each -> isOf(providerName, each));
        });
    }

    /** Returns how often the policies of a provider were lifted by {@link #forget}. */
    public long forgotten(String providerName) {
        synchronized (required) {
            return forgotten.getOrDefault(providerName, 0L);
        }
    }

    /** Returns all policies, in the order in which they were first required. */
    public List<P> all() {
        synchronized (required) {
            return List.copyOf(required.values());
        }
    }

    /** Passes on the policies as if one had changed. */
    public void refresh() {
        change(() -> {});
    }

    private void change(Runnable change) {
        synchronized (required) {
            change.run();
            changed.accept(List.copyOf(required.values()));
        }
    }

    private static boolean isOf(String providerName, Policy<?> policy) {
        return policy.provider().name().equals(providerName);
    }
}
