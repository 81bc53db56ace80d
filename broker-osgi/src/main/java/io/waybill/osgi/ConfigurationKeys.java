package io.waybill.osgi;

import java.io.IOException;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceReference;
import org.osgi.service.cm.Configuration;
import org.osgi.service.cm.ConfigurationAdmin;
import org.osgi.service.component.runtime.ServiceComponentRuntime;
import org.osgi.service.component.runtime.dto.ComponentDescriptionDTO;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Warns of keys in configurations that no component knows: without a warning, a misspelled setting has no visible
 * effect.
 *
 * <p><b>Threads.</b> Any.
 */
final class ConfigurationKeys {

    private static final Logger LOG = LoggerFactory.getLogger(ConfigurationKeys.class);
    /** Beginnings of keys that are not a component's own: its name and services, and its references to others. */
    private static final List<String> BEGINNINGS = List.of("service.", "component.", "waybill.", ".");

    private static final List<String> ENDS = List.of(".target", ".cardinality.minimum");

    private final BundleContext context;

    ConfigurationKeys(BundleContext context) {
        this.context = context;
    }

    /** Checks the configurations of a bundle's components, whose descriptions are available once it has started. */
    void check(Bundle bundle) {
        Set<String> pids = new LinkedHashSet<>();
        descriptions()
                .filter(each -> each.bundle.id == bundle.getBundleId())
                .forEach(each -> pids.addAll(List.of(each.configurationPid)));
        pids.forEach(this::check);
    }

    /** Checks the configurations of a PID or factory PID, if a component uses them. */
    void check(String pid) {
        Set<String> known = new TreeSet<>();
        descriptions()
                .filter(each -> List.of(each.configurationPid).contains(pid))
                .forEach(each -> known.addAll(each.properties.keySet()));
        known.removeIf(key -> !isOwn(key));
        if (known.isEmpty()) { // no component, or one that accepts any key
            return;
        }
        for (String key : given(pid)) {
            if (isOwn(key) && !known.contains(key)) {
                LOG.warn(
                        "conf/{}.cfg: no component has a default for '{}', which may be misspelled; there are {}",
                        pid,
                        key,
                        String.join(", ", known));
            }
        }
    }

    private static boolean isOwn(String key) {
        return BEGINNINGS.stream().noneMatch(key::startsWith) && ENDS.stream().noneMatch(key::endsWith);
    }

    private Set<String> given(String pid) {
        ServiceReference<ConfigurationAdmin> reference = context.getServiceReference(ConfigurationAdmin.class);
        ConfigurationAdmin admin = reference == null ? null : context.getService(reference);
        Set<String> keys = new TreeSet<>();
        if (admin == null) {
            return keys;
        }
        try {
            Configuration[] found =
                    admin.listConfigurations("(|(service.pid=" + pid + ")(service.factoryPid=" + pid + "))");
            for (Configuration each : found == null ? new Configuration[0] : found) {
                keys.addAll(Collections.list(each.getProperties().keys()));
            }
        } catch (IOException | InvalidSyntaxException e) { // the bundle chooses its components' names
            LOG.debug("The configurations of {} can't be listed", pid, e);
        } finally {
            context.ungetService(reference);
        }
        return keys;
    }

    private Stream<ComponentDescriptionDTO> descriptions() {
        ServiceReference<ServiceComponentRuntime> reference =
                context.getServiceReference(ServiceComponentRuntime.class);
        ServiceComponentRuntime runtime = reference == null ? null : context.getService(reference);
        if (runtime == null) {
            return Stream.empty();
        }
        try {
            return List.copyOf(runtime.getComponentDescriptionDTOs()).stream();
        } finally {
            context.ungetService(reference);
        }
    }
}
