package io.waybill.osgi.whiteboard;

import io.waybill.api.event.CallEvents;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.Provider;
import io.waybill.event.CallListeners;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Registers the {@link CallEvents} services of bundles with the worker.
 *
 * <p><b>Threads.</b> Any: the framework calls on the thread that registers or unregisters.
 */
final class CallEventsWhiteboard extends ServiceWhiteboard<CallEvents, CallListeners.Registration> {

    private static final Logger LOG = LoggerFactory.getLogger(CallEventsWhiteboard.class);

    private final HandlerRegistry registry;

    CallEventsWhiteboard(BundleContext context, HandlerRegistry registry, ServiceProblems problems) {
        super(context, CallEvents.class, "a CallEvents listener", problems);
        this.registry = registry;
    }

    @Override
    CallListeners.Registration add(
            Provider provider, CallEvents listener, ServiceReference<CallEvents> reference, long mark) {
        LOG.info("{} listens to events of calls", provider);
        return registry.events()
                .add(provider.toString(), listener, () -> registry.errors().charge(provider));
    }

    @Override
    void remove(CallListeners.Registration listener) {
        listener.remove();
    }
}
