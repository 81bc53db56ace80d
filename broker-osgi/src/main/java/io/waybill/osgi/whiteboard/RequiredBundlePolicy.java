package io.waybill.osgi.whiteboard;

import io.waybill.api.policy.BundlePolicy;
import io.waybill.dispatch.Provider;
import io.waybill.dispatch.RequiredPolicies;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A bundle policy that must allow each jar: while it is away, no jar is installed. Immutable.
 *
 * @param policy null while it is away
 * @param contextClassLoader set for every call of the policy
 * @param inside whether a call of it has not returned yet
 */
public record RequiredBundlePolicy(
        Provider provider, BundlePolicy policy, ClassLoader contextClassLoader, AtomicBoolean inside)
        implements RequiredPolicies.Policy<RequiredBundlePolicy> {

    RequiredBundlePolicy(Provider provider, BundlePolicy policy, ClassLoader contextClassLoader) {
        this(provider, policy, contextClassLoader, new AtomicBoolean());
    }

    /** Returns the policy of a provider whose bundle is away. */
    public static RequiredBundlePolicy away(Provider provider) {
        return new RequiredBundlePolicy(provider, null, null);
    }

    @Override
    public boolean isAway() {
        return policy == null;
    }

    @Override
    public RequiredBundlePolicy away() {
        return away(provider);
    }
}
