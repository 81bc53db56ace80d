package io.waybill.osgi.whiteboard;

import io.waybill.dispatch.Provider;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;
import org.osgi.util.tracker.ServiceTracker;
import org.osgi.util.tracker.ServiceTrackerCustomizer;

/**
 * Passes the services of one kind on, whose properties don't count.
 *
 * <p><b>Threads.</b> Any: the framework calls on the thread that registers or unregisters.
 *
 * @param <S> the kind of service
 * @param <R> the stay of one where it was passed to
 */
abstract class ServiceWhiteboard<S, R> implements ServiceTrackerCustomizer<S, R>, AutoCloseable {

    private final BundleContext context;
    private final Class<S> type;
    private final String what;
    private final ServiceProblems problems;
    private final ServiceTracker<S, R> tracker;

    /** @param what a service is, for the report of one that can't be used */
    ServiceWhiteboard(BundleContext context, Class<S> type, String what, ServiceProblems problems) {
        this.context = context;
        this.type = type;
        this.what = what;
        this.problems = problems;
        this.tracker = ServiceObjects.tracker(context, type, this, problems);
    }

    /** Passes a service on. Returns null if it is not used, with the reason where operators see it. */
    abstract R add(Provider provider, S service, ServiceReference<S> reference);

    /** Is called for a service that its bundle could not create, or that implements another API, after the report. */
    void missing(Provider provider) {}

    /** Ends the stay of a service. */
    abstract void remove(R registration);

    /** Begins, with the services that are there. */
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
        S service = ServiceObjects.get(context, reference, type, what, problems);
        if (service == null) {
            missing(provider);
            return null;
        }
        R registration = add(provider, service, reference);
        if (registration == null) {
            context.ungetService(reference);
        }
        return registration;
    }

    @Override
    public final void modifiedService(ServiceReference<S> reference, R registration) {
        // it has no properties that count
    }

    @Override
    public final void removedService(ServiceReference<S> reference, R registration) {
        remove(registration);
        context.ungetService(reference);
    }
}
