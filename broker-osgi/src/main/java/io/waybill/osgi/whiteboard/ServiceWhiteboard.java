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
    private final ServiceTracker<S, R> tracker;

    ServiceWhiteboard(BundleContext context, Class<S> type) {
        this.context = context;
        this.tracker = new ServiceTracker<>(context, type, this);
    }

    /** Passes a service on. Returns null if it is not used, with the reason where operators see it. */
    abstract R add(Provider provider, S service, ServiceReference<S> reference);

    /** Reports a service that its bundle could not create. */
    abstract void missing(Provider provider, ServiceReference<S> reference);

    /** Ends the stay of a service. */
    abstract void remove(R registration);

    /** Begins, with the services that are there. */
    public void open() {
        tracker.open();
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
        S service = context.getService(reference);
        if (service == null) {
            missing(provider, reference);
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
