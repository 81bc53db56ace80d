package io.waybill.osgi.whiteboard;

import io.waybill.dispatch.Provider;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;
import org.osgi.util.tracker.ServiceTracker;
import org.osgi.util.tracker.ServiceTrackerCustomizer;

/**
 * Registers the services of one kind with the worker; properties of these services are ignored.
 *
 * <p><b>Threads.</b> Any: the framework calls on the thread that registers or unregisters.
 *
 * @param <S> the kind of service
 * @param <R> registration of a service with the worker
 */
abstract class ServiceWhiteboard<S, R> implements ServiceTrackerCustomizer<S, R>, AutoCloseable {

    private final BundleContext context;
    private final Class<S> type;
    private final String what;
    private final ServiceProblems problems;
    private final ServiceTracker<S, R> tracker;

    /** @param what description of a service, for the report of an unusable one */
    ServiceWhiteboard(BundleContext context, Class<S> type, String what, ServiceProblems problems) {
        this.context = context;
        this.type = type;
        this.what = what;
        this.problems = problems;
        this.tracker = ServiceObjects.tracker(context, type, this, problems);
    }

    /** Returns a mark of the time before the bundle creates a service, which may take until the bundle was removed. */
    long mark(Provider provider) {
        return 0;
    }

    /**
     * Registers a service with the worker; returns null if it is not used, and reports the reason to operators.
     *
     * @param mark of the time before the service was created
     */
    abstract R add(Provider provider, S service, ServiceReference<S> reference, long mark);

    /** Called for a service that its bundle could not create, or that implements another API, after the report. */
    void missing(Provider provider) {}

    /** Removes the registration of a service. */
    abstract void remove(R registration);

    /** Starts tracking, with the services that are already registered. */
    public void open() {
        tracker.open(true);
    }

    @Override
    public void close() {
        tracker.close();
    }

    @Override
    public final R addingService(ServiceReference<S> reference) {
        Bundle bundle = reference.getBundle();
        Provider provider =
                new Provider(bundle.getSymbolicName(), bundle.getVersion().toString());
        long mark = mark(provider);
        S service = ServiceObjects.get(context, reference, type, what, problems);
        if (service == null) {
            missing(provider);
            return null;
        }
        R registration = add(provider, service, reference, mark);
        if (registration == null) {
            context.ungetService(reference);
        }
        return registration;
    }

    @Override
    public final void modifiedService(ServiceReference<S> reference, R registration) {
        // properties of these services are ignored
    }

    @Override
    public final void removedService(ServiceReference<S> reference, R registration) {
        remove(registration);
        context.ungetService(reference);
    }
}
