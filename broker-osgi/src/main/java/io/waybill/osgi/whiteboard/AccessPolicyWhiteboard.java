package io.waybill.osgi.whiteboard;

import io.waybill.api.policy.AccessPolicy;
import io.waybill.dispatch.AccessPolicies;
import io.waybill.dispatch.Provider;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.wiring.BundleWiring;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Registers the {@link AccessPolicy} services of bundles with the worker. A policy whose service disappears remains
 * required until its bundle is uninstalled.
 *
 * <p><b>Threads.</b> Any: the framework calls on the thread that registers or unregisters.
 */
public final class AccessPolicyWhiteboard extends ServiceWhiteboard<AccessPolicy, AccessPolicies.Registration> {

    /** Service property that distinguishes the components of one bundle. */
    static final String COMPONENT = "component.name";

    private static final Logger LOG = LoggerFactory.getLogger(AccessPolicyWhiteboard.class);

    private final AccessPolicies policies;

    public AccessPolicyWhiteboard(BundleContext context, AccessPolicies policies, ServiceProblems problems) {
        super(context, AccessPolicy.class, "an access policy", problems);
        this.policies = policies;
    }

    @Override
    long mark(Provider provider) {
        return policies.forgotten(provider.name());
    }

    @Override
    AccessPolicies.Registration add(
            Provider provider, AccessPolicy policy, ServiceReference<AccessPolicy> reference, long mark) {
        Object component = reference.getProperty(COMPONENT);
        String name = component == null ? policy.getClass().getName() : component.toString();
        LOG.info("{} decides which requests are served", provider);
        ClassLoader loader = reference.getBundle().adapt(BundleWiring.class).getClassLoader();
        return policies.add(provider, name, policy, loader, mark);
    }

    @Override
    void missing(Provider provider) {
        policies.require(provider); // requests wait for it
    }

    @Override
    void remove(AccessPolicies.Registration policy) {
        policy.withdraw();
    }
}
