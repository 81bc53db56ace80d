package io.waybill.osgi;

import io.waybill.osgi.jar.ComponentDeclaration;
import io.waybill.osgi.jar.StagedJar;
import io.waybill.osgi.whiteboard.ServiceWhiteboards;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceEvent;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.hooks.service.EventListenerHook;
import org.osgi.framework.hooks.service.FindHook;
import org.osgi.framework.hooks.service.ListenerHook.ListenerInfo;

/**
 * Two versions of a bundle at the same time: decides whether that is possible, and hides the services of each from the
 * other, so that no component of the new version depends on the old one.
 *
 * <p><b>Threads.</b> Any; stateless.
 */
final class SideBySide implements FindHook, EventListenerHook {

    /**
     * Returns whether the new version of an active bundle can start while the old one serves: none of them is
     * exclusive, or has services that the worker uses of one version at a time.
     *
     * @param services those of the running bundle
     */
    static boolean isPossible(BundleSlot running, ServiceWhiteboards services, StagedJar candidate) {
        return running.isActive()
                && !running.jar().isExclusive()
                && !candidate.isExclusive()
                && services.allowOtherVersion(running.bundle)
                && ServiceWhiteboards.OF_ONE_VERSION.stream()
                        .allMatch(kind ->
                                ComponentDeclaration.in(candidate.copy(), kind).isEmpty());
    }

    @Override
    public void find(
            BundleContext context,
            String name,
            String filter,
            boolean allServices,
            Collection<ServiceReference<?>> references) {
        references.removeIf(reference -> isOtherVersion(reference.getBundle(), context.getBundle()));
    }

    @Override
    public void event(ServiceEvent event, Map<BundleContext, Collection<ListenerInfo>> listeners) {
        Bundle from = event.getServiceReference().getBundle();
        List.copyOf(listeners.keySet()).stream()
                .filter(context -> isOtherVersion(from, context.getBundle()))
                .forEach(listeners::remove);
    }

    /** Returns whether a bundle is another version of the asking one. */
    private static boolean isOtherVersion(Bundle bundle, Bundle asking) {
        return bundle != null // it has unregistered the service
                && bundle.getBundleId() != asking.getBundleId()
                && bundle.getSymbolicName() != null
                && bundle.getSymbolicName().equals(asking.getSymbolicName());
    }
}
