package io.waybill.osgi.whiteboard;

import io.waybill.api.policy.BundlePolicy;
import io.waybill.dispatch.Provider;
import io.waybill.dispatch.RequiredPolicies;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.wiring.BundleWiring;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Registers the {@link BundlePolicy} services of bundles. A policy whose service disappears remains required until its
 * bundle is uninstalled.
 *
 * <p><b>Threads.</b> Any: the framework calls on the thread that registers or unregisters.
 */
final class BundlePolicyWhiteboard extends ServiceWhiteboard<BundlePolicy, Runnable> {

    private static final Logger LOG = LoggerFactory.getLogger(BundlePolicyWhiteboard.class);

    private final RequiredPolicies<RequiredBundlePolicy> policies;

    BundlePolicyWhiteboard(
            BundleContext context, RequiredPolicies<RequiredBundlePolicy> policies, ServiceProblems problems) {
        super(context, BundlePolicy.class, "a bundle policy", problems);
        this.policies = policies;
    }

    @Override
    long mark(Provider provider) {
        return policies.forgotten(provider.name());
    }

    @Override
    Runnable add(Provider provider, BundlePolicy policy, ServiceReference<BundlePolicy> reference, long mark) {
        Object component = reference.getProperty(AccessPolicyWhiteboard.COMPONENT);
        String name = component == null ? policy.getClass().getName() : component.toString();
        LOG.info("{} decides which bundles are installed", provider);
        ClassLoader loader = reference.getBundle().adapt(BundleWiring.class).getClassLoader();
        RequiredBundlePolicy added = new RequiredBundlePolicy(provider, policy, loader);
        policies.add(name, added, mark);
        return () -> policies.withdraw(name, added);
    }

    @Override
    void missing(Provider provider) {
        policies.require(RequiredBundlePolicy.away(provider));
    }

    @Override
    void remove(Runnable withdrawal) {
        withdrawal.run();
    }
}
