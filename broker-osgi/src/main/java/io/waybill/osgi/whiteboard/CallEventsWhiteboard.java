package io.waybill.osgi.whiteboard;

import io.waybill.api.event.CallEvents;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.Provider;
import io.waybill.event.CallListeners;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;
import org.osgi.util.tracker.ServiceTracker;
import org.osgi.util.tracker.ServiceTrackerCustomizer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Passes the {@link CallEvents} services of bundles on.
 *
 * <p><b>Threads.</b> Any: the framework calls on the thread that registers or unregisters.
 */
final class CallEventsWhiteboard
        implements ServiceTrackerCustomizer<CallEvents, CallListeners.Registration>, AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(CallEventsWhiteboard.class);

    private final BundleContext context;
    private final HandlerRegistry registry;
    private final ServiceProblems problems;
    private final ServiceTracker<CallEvents, CallListeners.Registration> tracker;

    CallEventsWhiteboard(BundleContext context, HandlerRegistry registry, ServiceProblems problems) {
        this.context = context;
        this.registry = registry;
        this.problems = problems;
        this.tracker = new ServiceTracker<>(context, CallEvents.class, this);
    }

    void open() {
        tracker.open();
    }

    @Override
    public void close() {
        tracker.close();
    }

    @Override
    public CallListeners.Registration addingService(ServiceReference<CallEvents> reference) {
        CallEvents listener = context.getService(reference);
        if (listener == null) {
            problems.report(reference, "a CallEvents listener could not be made");
            return null;
        }
        Bundle bundle = reference.getBundle();
        Provider provider =
                new Provider(bundle.getSymbolicName(), bundle.getVersion().toString());
        LOG.info("{} listens to events of calls", provider);
        return registry.events()
                .add(provider.toString(), listener, () -> registry.errors().charge(provider));
    }

    @Override
    public void modifiedService(ServiceReference<CallEvents> reference, CallListeners.Registration listener) {
        // A listener has no properties that count.
    }

    @Override
    public void removedService(ServiceReference<CallEvents> reference, CallListeners.Registration listener) {
        listener.remove();
        context.ungetService(reference);
    }
}
