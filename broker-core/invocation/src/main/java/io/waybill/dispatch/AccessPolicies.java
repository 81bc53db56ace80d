package io.waybill.dispatch;

import io.waybill.api.MessageType;
import io.waybill.api.policy.AccessPolicy;
import io.waybill.api.policy.AccessRequest;
import io.waybill.api.policy.Decision;
import io.waybill.host.Threads;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;

/**
 * Registry of the access policies of a process. A policy that was added is required until it is removed explicitly:
 * while it is away no request is served.
 *
 * <p><b>Threads.</b> Any. Listeners are called on the thread that made the change, and must be quick.
 */
public final class AccessPolicies {

    private final RequiredPolicies<InstalledPolicy> required = new RequiredPolicies<>(this::update);
    private final List<Runnable> listeners = new CopyOnWriteArrayList<>();
    private final ProviderErrors errors;
    private final Threads threads;
    private volatile boolean expectingMore;
    private volatile Required current; // null while every request is allowed

    /**
     * Policies that must all allow a request. Immutable.
     *
     * @param forControl those that must allow a control call: they are there and decide about such calls
     * @param isComplete whether all policies are there, and no more are expected
     */
    public record Required(List<InstalledPolicy> policies, List<InstalledPolicy> forControl, boolean isComplete) {

        /** Returns the names of the bundles whose policies are away. */
        public String away() {
            String away = policies.stream()
                    .filter(InstalledPolicy::isAway)
                    .map(policy -> policy.provider().toString())
                    .distinct()
                    .collect(Collectors.joining(", "));
            return away.isEmpty() ? "this node, which is starting," : away;
        }
    }

    AccessPolicies(ProviderErrors errors, Threads threads) {
        this.errors = errors;
        this.threads = threads;
    }

    /** Registration of a policy. Thread-safe. */
    public interface Registration {

        /**
         * Withdraws the policy. It remains required: requests wait until a policy of the same provider and name is
         * added.
         */
        void withdraw();

        /** Lifts the policy. */
        void remove();
    }

    /** Adds the policy of a program, which replaces the one that this provider added before. */
    public Registration add(Provider provider, AccessPolicy policy) {
        return add(provider, "", policy, policy.getClass().getClassLoader());
    }

    /** Adds a policy that was just created, as below. */
    public Registration add(Provider provider, String name, AccessPolicy policy, ClassLoader contextClassLoader) {
        return add(provider, name, policy, contextClassLoader, forgotten(provider.name()));
    }

    /**
     * Adds a policy, which replaces the one that the provider has under this name.
     *
     * @param contextClassLoader set for every call of the policy
     * @param asOf what {@link #forgotten} returned before the policy was created: if its bundle was removed meanwhile,
     *     the policy is not added, and that of another version of the bundle stays
     */
    public Registration add(
            Provider provider, String name, AccessPolicy policy, ClassLoader contextClassLoader, long asOf) {
        InstalledPolicy added =
                new InstalledPolicy(provider, Objects.requireNonNull(policy), contextClassLoader, errors, threads);
        required.add(name, added, asOf);
        notifyListeners();
        return new Registration() {
            @Override
            public void withdraw() {
                required.withdraw(name, added);
                notifyListeners();
            }

            @Override
            public void remove() {
                required.remove(provider.name(), name);
                notifyListeners();
            }
        };
    }

    /** Requires a policy of a provider whose bundle is away. */
    public void require(Provider provider) {
        required.require(new InstalledPolicy(provider, null, null, errors, threads));
        notifyListeners();
    }

    /** Notes that a provider has added all its policies: if it has some, others that it had are no longer required. */
    public void completed(String providerName) {
        required.completed(providerName);
        notifyListeners();
    }

    /** Lifts all policies of a provider: its bundle was uninstalled. */
    public void forget(String providerName) {
        required.forget(providerName);
        notifyListeners();
    }

    /** Returns how often the policies of a provider were lifted by {@link #forget}. */
    public long forgotten(String providerName) {
        return required.forgotten(providerName);
    }

    /** Sets whether more policies are expected, for example while a node starts: until then every request waits. */
    public void expectMore(boolean more) {
        expectingMore = more;
        required.refresh();
        notifyListeners();
    }

    /** Publishes the required policies, one change after the other. */
    private void update(List<InstalledPolicy> policies) {
        boolean isComplete = !expectingMore && policies.stream().noneMatch(InstalledPolicy::isAway);
        List<InstalledPolicy> forControl =
                policies.stream().filter(InstalledPolicy::decidesControl).toList();
        current = policies.isEmpty() && isComplete ? null : new Required(policies, forControl, isComplete);
    }

    private void notifyListeners() {
        for (Runnable listener : listeners) {
            listener.run();
        }
    }

    /** Returns the policies that each request needs; null for none. One volatile read. */
    public Required current() {
        return current;
    }

    /**
     * Returns these policies as one, for another worker of this process. While one of them is away, it refuses every
     * request.
     */
    public AccessPolicy asOne() {
        return new AccessPolicy() {
            @Override
            public Decision decide(AccessRequest request) {
                Required now = current;
                boolean isControl = isControl(request.type().code());
                if (now == null) {
                    return Decision.allow();
                }
                if (!isControl && !now.isComplete()) {
                    return Decision.deny("the access policy of " + now.away() + " is away");
                }
                for (InstalledPolicy policy : isControl ? now.forControl() : now.policies()) {
                    String why = refusal(policy, request);
                    if (why != null) {
                        return Decision.deny("the access policy of " + policy.provider() + " " + why);
                    }
                }
                return Decision.allow();
            }

            @Override
            public boolean decidesControlCalls() {
                return true;
            }
        };
    }

    /** Returns whether a request is the broker's own, which only policies that say so decide about. */
    public static boolean isControl(int typeCode) {
        return typeCode > (MessageType.LAST_USER_KIND | MessageType.REQUEST_FLAG);
    }

    /** Returns why a policy refuses the request; null when it allows it. */
    private static String refusal(InstalledPolicy policy, AccessRequest request) {
        if (!policy.enter()) {
            return "has not returned from an earlier decision";
        }
        try {
            return policy.refusal(request);
        } finally {
            policy.leave();
        }
    }

    /** Calls {@code listener} after every change. */
    public void onChange(Runnable listener) {
        listeners.add(listener);
    }
}
