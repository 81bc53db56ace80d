package io.waybill.osgi.whiteboard;

import io.waybill.api.policy.AccessPolicy;
import io.waybill.dispatch.AccessPolicies;
import io.waybill.dispatch.Provider;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.wiring.BundleWiring;
import org.osgi.util.tracker.ServiceTracker;
import org.osgi.util.tracker.ServiceTrackerCustomizer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Passes the {@link AccessPolicy} services of bundles on. A policy whose service goes remains required until its bundle is uninstalled.
 *
 * <p><b>Threads.</b> Any: the framework calls on the thread that registers or unregisters.
 */
public final class AccessPolicyWhiteboard
        implements ServiceTrackerCustomizer<AccessPolicy, AccessPolicies.Registration>, AutoCloseable {

    /** The service property by which components of one bundle differ. */
    private static final String COMPONENT = "component.name";

    private static final Logger LOG = LoggerFactory.getLogger(AccessPolicyWhiteboard.class);

    private final BundleContext context;
    private final AccessPolicies policies;
    private final ServiceTracker<AccessPolicy, AccessPolicies.Registration> tracker;

    public AccessPolicyWhiteboard(BundleContext context, AccessPolicies policies) {
        this.context = context;
        this.policies = policies;
        this.tracker = new ServiceTracker<>(context, AccessPolicy.class, this);
    }

    public void open() {
        tracker.open();
    }

    @Override
    public void close() {
        tracker.close();
    }

    @Override
    public AccessPolicies.Registration addingService(ServiceReference<AccessPolicy> reference) {
        Bundle bundle = reference.getBundle();
        Provider provider =
                new Provider(bundle.getSymbolicName(), bundle.getVersion().toString());
        AccessPolicy policy = context.getService(reference);
        if (policy == null) {
            LOG.error("The access policy of {} could not be created; requests wait for it", provider);
            policies.require(provider);
            return null;
        }
        Object component = reference.getProperty(COMPONENT);
        String name = component == null ? policy.getClass().getName() : component.toString();
        LOG.info("{} decides which requests are served", provider);
        return policies.add(
                provider, name, policy, bundle.adapt(BundleWiring.class).getClassLoader());
    }

    @Override
    public void modifiedService(ServiceReference<AccessPolicy> reference, AccessPolicies.Registration policy) {
        // A policy has no properties that count.
    }

    @Override
    public void removedService(ServiceReference<AccessPolicy> reference, AccessPolicies.Registration policy) {
        policy.withdraw();
        context.ungetService(reference);
    }
}
