package io.waybill.osgi.whiteboard;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.osgi.framework.Bundle;
import org.osgi.framework.ServiceReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reasons why services of bundles are not used. Thread-safe. */
public final class ServiceProblems {

    private static final Logger LOG = LoggerFactory.getLogger(ServiceProblems.class);

    private final Map<Long, List<Problem>> problems = new HashMap<>(); // guarded by itself

    /** Problem of a service. */
    private record Problem(ServiceReference<?> reference, String text) {}

    /** Returns the problems of the services that the bundle currently publishes. */
    public List<String> of(Bundle bundle) {
        synchronized (problems) {
            List<Problem> ofBundle = problems.getOrDefault(bundle.getBundleId(), List.of());
            return ofBundle.stream()
                    .filter(problem -> problem.reference.getBundle() != null)
                    .map(Problem::text)
                    .toList();
        }
    }

    /** Forgets the problems of a bundle, before it starts or after it was removed. */
    public void forget(Bundle bundle) {
        synchronized (problems) {
            problems.remove(bundle.getBundleId());
        }
    }

    /** Records and logs the problem of a service. */
    void report(ServiceReference<?> reference, String text) {
        Bundle bundle = reference.getBundle();
        if (bundle == null) { // unregistered meanwhile
            return;
        }
        synchronized (problems) {
            List<Problem> ofBundle = problems.computeIfAbsent(bundle.getBundleId(), id -> new ArrayList<>());
            ofBundle.removeIf(problem -> problem.reference.getBundle() == null);
            ofBundle.add(new Problem(reference, text));
        }
        LOG.error("{}: {}", bundle.getSymbolicName(), text);
    }
}
