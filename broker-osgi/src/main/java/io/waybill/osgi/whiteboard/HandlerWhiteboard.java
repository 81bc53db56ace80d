package io.waybill.osgi.whiteboard;

import io.waybill.api.handler.Delivery;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.NonBlocking;
import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.dispatch.Drained;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.KeyClaimedException;
import io.waybill.dispatch.Provider;
import io.waybill.host.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.wiring.BundleWiring;
import org.osgi.util.tracker.ServiceTracker;
import org.osgi.util.tracker.ServiceTrackerCustomizer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Passes the {@link MessageHandler} services of bundles on to the registry. A service with a key that another bundle's handler has is
 * refused, and a problem of its bundle. When one goes, the bundle that stops waits here until the
 * running requests ended, up to the drain limit. All handlers of a bundle that stops are withdrawn with the first one that goes, so that those
 * in flight can use the others. The threads of a bundle's handlers end with the last of them.
 *
 * <p><b>Threads.</b> Any: the framework calls on the thread that registers or unregisters.
 */
public final class HandlerWhiteboard
        implements ServiceTrackerCustomizer<MessageHandler, HandlerWhiteboard.Published>, AutoCloseable {

    /** The service property that {@link HandlesMessage} sets. */
    static final String HANDLES = HandlesMessage.PREFIX_ + "handles.message";
    /** The service property that {@link NonBlocking} sets. */
    static final String NON_BLOCKING = NonBlocking.PREFIX_ + "non.blocking";

    /** The service property that {@link Delivery} sets. */
    static final String DELIVERY = Delivery.PREFIX_ + "delivery";

    private static final Logger LOG = LoggerFactory.getLogger(HandlerWhiteboard.class);
    private static final Duration THREADS_END_LIMIT = Duration.ofSeconds(1);

    private final BundleContext context;
    private final HandlerRegistry registry;
    private final ServiceProblems problems;
    private final ExecutorSettings executorSettings;
    private final Duration drainLimit;
    private final Clock clock;
    private final ServiceTracker<MessageHandler, Published> tracker;

    private final Map<Long, OfBundle> byBundle = new HashMap<>(); // guarded by itself

    /** A handler while it is in the registry. */
    record Published(Bundle bundle, OfBundle owner, HandlerRegistry.Registration registration, Provider provider) {}

    /** State shared by the handlers of one bundle. Its fields are guarded by {@link #byBundle}. */
    private static final class OfBundle {
        final HandlerExecutor executor;
        final List<HandlerRegistry.Registration> registrations = new ArrayList<>();
        int handlers;
        boolean draining;
        long drainUntilNs;

        OfBundle(HandlerExecutor executor) {
            this.executor = executor;
        }
    }

    public HandlerWhiteboard(
            BundleContext context,
            HandlerRegistry registry,
            ServiceProblems problems,
            ExecutorSettings executorSettings,
            Duration drainLimit,
            Clock clock) {
        this.context = context;
        this.registry = registry;
        this.problems = problems;
        this.executorSettings = executorSettings;
        this.drainLimit = drainLimit;
        this.clock = clock;
        this.tracker = new ServiceTracker<>(context, MessageHandler.class, this);
    }

    public void open() {
        tracker.open(true);
    }

    @Override
    public void close() {
        tracker.close();
    }

    @Override
    public Published addingService(ServiceReference<MessageHandler> reference) {
        Bundle bundle = reference.getBundle();
        List<HandlerKey> keys;
        DeliveryPolicy delivery;
        try {
            keys = ServiceKeys.of(reference, HANDLES, "a handler");
            delivery = delivery(reference);
        } catch (IllegalArgumentException e) {
            problems.report(reference, e.getMessage());
            return null;
        }
        String what = "the handler of " + ServiceKeys.texts(keys);
        MessageHandler handler = ServiceObjects.get(context, reference, MessageHandler.class, what, problems);
        if (handler == null) {
            return null;
        }
        Provider provider =
                new Provider(bundle.getSymbolicName(), bundle.getVersion().toString());
        OfBundle owner = join(bundle, provider);
        HandlerSpec spec = new HandlerSpec(
                keys,
                handler,
                isNonBlocking(reference),
                provider,
                reference.getProperty(Constants.SERVICE_RANKING) instanceof Integer ranking ? ranking : 0,
                bundle.adapt(BundleWiring.class).getClassLoader(),
                delivery,
                owner.executor);
        HandlerRegistry.Registration registration;
        try {
            registration = registry.addExclusively(spec);
        } catch (KeyClaimedException e) {
            leave(owner, provider);
            context.ungetService(reference);
            problems.report(reference, e.getMessage());
            return null;
        }
        synchronized (byBundle) {
            owner.registrations.add(registration);
        }
        LOG.info("{} handles {}", provider, ServiceKeys.texts(keys));
        return new Published(bundle, owner, registration, provider);
    }

    @Override
    public void modifiedService(ServiceReference<MessageHandler> reference, Published published) {
        // Keys identify a handler: a change of them is a new registration.
    }

    @Override
    public void removedService(ServiceReference<MessageHandler> reference, Published published) {
        withdraw(published);
        leave(published.owner, published.provider);
        context.ungetService(reference);
    }

    private void withdraw(Published published) {
        OfBundle owner = published.owner;
        boolean isStopping = published.bundle.getState() == Bundle.STOPPING;
        boolean isLater;
        List<HandlerRegistry.Registration> together = List.of(published.registration);
        Duration limit = drainLimit;
        synchronized (byBundle) {
            isLater = isStopping && owner.draining;
            if (isStopping && !isLater) {
                together = List.copyOf(owner.registrations); // the others find themselves drained
            }
            owner.registrations.remove(published.registration);
            if (isStopping) {
                limit = timeToDrain(owner);
            }
        }
        Drained drained = registry.withdraw(together, limit);
        if (!drained.isComplete() && !isLater) {
            LOG.warn(
                    "{} leaves with {} requests running after {} ms",
                    published.provider,
                    drained.stillRunning(),
                    drainLimit.toMillis());
        }
    }

    /** Returns the remaining drain time: all handlers of a bundle that stops drain within one limit. */
    private Duration timeToDrain(OfBundle owner) {
        if (!owner.draining) {
            owner.draining = true;
            owner.drainUntilNs = clock.monotonicNs() + drainLimit.toNanos();
        }
        return Duration.ofNanos(Math.max(0, owner.drainUntilNs - clock.monotonicNs()));
    }

    private OfBundle join(Bundle bundle, Provider provider) {
        synchronized (byBundle) {
            OfBundle owner = byBundle.computeIfAbsent(
                    bundle.getBundleId(), id -> new OfBundle(registry.newExecutor(provider, executorSettings)));
            owner.handlers++;
            return owner;
        }
    }

    private void leave(OfBundle owner, Provider provider) {
        synchronized (byBundle) {
            if (--owner.handlers > 0) {
                return;
            }
            byBundle.values().remove(owner);
        }
        int givenUp = owner.executor.close(THREADS_END_LIMIT);
        if (givenUp > 0) {
            LOG.warn("{} leaves {} threads behind that do not end", provider, givenUp);
        }
    }

    private static boolean isNonBlocking(ServiceReference<MessageHandler> reference) {
        Object property = reference.getProperty(NON_BLOCKING);
        return property != null && Boolean.parseBoolean(property.toString());
    }

    private static DeliveryPolicy delivery(ServiceReference<MessageHandler> reference) {
        Object property = reference.getProperty(DELIVERY);
        return property == null ? DeliveryPolicy.AT_MOST_ONCE : DeliveryPolicy.parse(property.toString());
    }
}
