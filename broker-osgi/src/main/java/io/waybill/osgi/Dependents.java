package io.waybill.osgi;

import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceReference;
import org.osgi.service.component.runtime.ServiceComponentRuntime;
import org.osgi.service.component.runtime.dto.ComponentConfigurationDTO;
import org.osgi.service.component.runtime.dto.ComponentDescriptionDTO;
import org.osgi.service.component.runtime.dto.ReferenceDTO;
import org.osgi.service.component.runtime.dto.SatisfiedReferenceDTO;

/**
 * Finds the services of components that disappear with the services of a bundle, because they refer to them.
 * Thread-safe.
 */
final class Dependents {

    private final BundleContext context;

    Dependents(BundleContext context) {
        this.context = context;
    }

    /**
     * Returns the ids of the services that disappear when a bundle stops: its own, and those of components of any
     * bundle that need them.
     */
    Set<Long> of(Bundle bundle) {
        Set<Long> going = new HashSet<>();
        ServiceReference<?>[] own = bundle.getRegisteredServices(); // null for none
        for (ServiceReference<?> each : own == null ? new ServiceReference<?>[0] : own) {
            going.add((Long) each.getProperty(Constants.SERVICE_ID));
        }
        ServiceReference<ServiceComponentRuntime> reference =
                context.getServiceReference(ServiceComponentRuntime.class);
        ServiceComponentRuntime runtime = reference == null ? null : context.getService(reference);
        if (runtime == null || going.isEmpty()) {
            return going;
        }
        try {
            Collection<ComponentConfigurationDTO> all = runtime.getComponentDescriptionDTOs().stream()
                    .flatMap(component -> runtime.getComponentConfigurationDTOs(component).stream())
                    .filter(configuration -> configuration.service != null)
                    .toList();
            int before;
            do {
                before = going.size();
                all.stream()
                        .filter(configuration -> needsAny(configuration, going))
                        .forEach(configuration -> going.add(configuration.service.id));
            } while (going.size() > before);
            return going;
        } finally {
            context.ungetService(reference);
        }
    }

    private static boolean needsAny(ComponentConfigurationDTO configuration, Set<Long> going) {
        for (SatisfiedReferenceDTO satisfied : configuration.satisfiedReferences) {
            if (isNeeded(configuration.description, satisfied.name)
                    && Stream.of(satisfied.boundServices).anyMatch(bound -> going.contains(bound.id))) {
                return true;
            }
        }
        return false;
    }

    /**
     * Returns whether a component stops when a service of a reference disappears; false if it can run with another
     * service, or without one.
     */
    private static boolean isNeeded(ComponentDescriptionDTO component, String reference) {
        for (ReferenceDTO each : component.references) {
            if (each.name.equals(reference)) {
                return each.policy.equals("static") || each.cardinality.startsWith("1");
            }
        }
        return false;
    }
}
