package io.waybill.osgi;

import io.waybill.host.Clock;
import io.waybill.host.Threads;
import io.waybill.osgi.script.ScriptBundles;
import io.waybill.osgi.whiteboard.ServiceProblems;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;
import org.osgi.service.component.runtime.ServiceComponentRuntime;
import org.osgi.service.component.runtime.dto.ComponentConfigurationDTO;
import org.osgi.service.component.runtime.dto.ComponentDescriptionDTO;
import org.osgi.service.component.runtime.dto.ReferenceDTO;
import org.osgi.service.component.runtime.dto.UnsatisfiedReferenceDTO;

/** Checks whether the components and scripts of a bundle are active, and describes the obstacles. Thread-safe. */
final class ComponentCheck {

    private static final long LOOK_INTERVAL_NS = 10_000_000;
    private static final String CAUSE = "Caused by: ";
    private static final int MAX_TEXT = 300;

    private final BundleContext context;
    private final ServiceProblems services;
    private final ScriptBundles scripts;
    private final Threads threads;
    private final Clock clock;

    ComponentCheck(
            BundleContext context, ServiceProblems services, ScriptBundles scripts, Threads threads, Clock clock) {
        this.context = context;
        this.services = services;
        this.scripts = scripts;
        this.threads = threads;
        this.clock = clock;
    }

    private record Problem(String text, boolean mayPass) {}

    /**
     * Obstacles of a started bundle.
     *
     * @param text descriptions of all obstacles; empty if there are none
     * @param mayPass whether all obstacles may disappear without a change of the bundle, because dependencies may
     *     arrive
     */
    record Obstacles(String text, boolean mayPass) {
        boolean areThere() {
            return !text.isEmpty();
        }
    }

    /**
     * Returns the obstacles of a started bundle's components, services and scripts, after a limited wait for those that
     * may disappear.
     */
    Obstacles obstacles(Bundle bundle, Duration activationLimit) {
        long untilNs = clock.monotonicNs() + activationLimit.toNanos();
        List<Problem> problems = look(bundle);
        while (problems.stream().anyMatch(Problem::mayPass)
                && problems.stream().allMatch(Problem::mayPass)
                && untilNs - clock.monotonicNs() > 0
                && !Thread.currentThread().isInterrupted()) {
            threads.pause(LOOK_INTERVAL_NS);
            problems = look(bundle);
        }
        return new Obstacles(
                problems.stream().map(Problem::text).collect(Collectors.joining("; ")),
                problems.stream().allMatch(Problem::mayPass));
    }

    private List<Problem> look(Bundle bundle) {
        List<Problem> problems = new ArrayList<>();
        lookAtComponents(bundle, problems);
        services.of(bundle).forEach(text -> problems.add(new Problem(text, false)));
        scripts.problems(bundle).forEach(problem -> problems.add(new Problem(problem.text(), problem.mayPass())));
        return problems;
    }

    private void lookAtComponents(Bundle bundle, List<Problem> problems) {
        if (bundle.getHeaders().get("Service-Component") == null) {
            return;
        }
        ServiceReference<ServiceComponentRuntime> reference =
                context.getServiceReference(ServiceComponentRuntime.class);
        ServiceComponentRuntime runtime = reference == null ? null : context.getService(reference);
        if (runtime == null) {
            problems.add(new Problem("it has components, and no bundle that runs components (SCR) is there", true));
            return;
        }
        try {
            Collection<ComponentDescriptionDTO> components = runtime.getComponentDescriptionDTOs(bundle);
            if (components.isEmpty()) {
                problems.add(new Problem("its components are not read yet, or can't be", true));
            }
            for (ComponentDescriptionDTO component : components) {
                if (runtime.isComponentEnabled(component)) {
                    look(component, runtime.getComponentConfigurationDTOs(component), problems);
                }
            }
        } finally {
            context.ungetService(reference);
        }
    }

    private static void look(
            ComponentDescriptionDTO component,
            Collection<ComponentConfigurationDTO> configurations,
            List<Problem> problems) {
        if (configurations.isEmpty()) {
            problems.add(needsConfiguration(component));
        }
        for (ComponentConfigurationDTO configuration : configurations) {
            switch (configuration.state) {
                case ComponentConfigurationDTO.UNSATISFIED_CONFIGURATION -> problems.add(needsConfiguration(component));
                case ComponentConfigurationDTO.UNSATISFIED_REFERENCE -> problems.add(needsServices(configuration));
                case ComponentConfigurationDTO.FAILED_ACTIVATION -> problems.add(failed(configuration));
                default -> {
                    if (configuration.failure != null) {
                        problems.add(failed(configuration));
                    } else if (isUnregistered(configuration)) {
                        problems.add(new Problem(
                                component.name + " is satisfied, and its service is not registered yet", true));
                    }
                }
            }
        }
    }

    /**
     * Returns whether a satisfied component declares a service but is not registered as one: no bundle can use it,
     * whatever its state.
     */
    static boolean isUnregistered(ComponentConfigurationDTO configuration) {
        ComponentDescriptionDTO component = configuration.description;
        return component.serviceInterfaces.length > 0 && component.factory == null && configuration.service == null;
    }

    private static Problem needsConfiguration(ComponentDescriptionDTO component) {
        String pid = component.configurationPid.length == 0 ? component.name : component.configurationPid[0];
        return new Problem(component.name + " needs a configuration: conf/" + pid + ".cfg", true);
    }

    private static Problem needsServices(ComponentConfigurationDTO configuration) {
        List<String> missing = new ArrayList<>();
        for (UnsatisfiedReferenceDTO unsatisfied : configuration.unsatisfiedReferences) {
            missing.add(interfaceOf(unsatisfied.name, configuration.description)
                    + (unsatisfied.target == null ? "" : " with " + unsatisfied.target));
        }
        return new Problem(
                configuration.description.name + " needs a service that no bundle publishes: "
                        + String.join(", ", missing),
                true);
    }

    private static String interfaceOf(String referenceName, ComponentDescriptionDTO component) {
        for (ReferenceDTO reference : component.references) {
            if (reference.name.equals(referenceName)) {
                return reference.interfaceName;
            }
        }
        return referenceName;
    }

    private static Problem failed(ComponentConfigurationDTO configuration) {
        return new Problem(
                configuration.description.name + " could not be activated: " + innermost(configuration.failure), false);
    }

    /**
     * Returns the last cause of a printed stack trace, or the last one of Waybill's own causes, which states what to
     * do.
     */
    private static String innermost(String stackTrace) {
        String line = "it does not say why";
        String own = null;
        for (String next : stackTrace == null ? new String[0] : stackTrace.split("\n")) {
            if (!next.isBlank() && !next.startsWith("\tat ") && !next.startsWith("\t...")) {
                line = next.strip();
                own = line.startsWith(CAUSE + "io.waybill.api.") ? line : own;
            }
        }
        line = own != null ? own : line;
        String text = line.startsWith(CAUSE) ? line.substring(CAUSE.length()) : line;
        return text.length() > MAX_TEXT ? text.substring(0, MAX_TEXT) + "…" : text;
    }
}
