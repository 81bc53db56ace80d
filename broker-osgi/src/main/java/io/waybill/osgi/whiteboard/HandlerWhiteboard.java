package io.waybill.osgi.whiteboard;

import io.waybill.api.handler.Delivery;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.LeavesLast;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.NonBlocking;
import io.waybill.api.handler.OperationDescription;
import io.waybill.dispatch.CanaryRule;
import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.dispatch.Drained;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.dispatch.KeyClaimedException;
import io.waybill.dispatch.Provider;
import io.waybill.host.failure.ForeignErrors;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
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
 * Registers the {@link MessageHandler} services of bundles with the worker. A service whose key another bundle's
 * handler has is refused, and reported as a problem of its bundle. A stopping bundle waits here until its running
 * requests have completed, up to the drain limit: in {@link #drain}, or, if the framework stops it, when the first
 * handler is unregistered. All its handlers are withdrawn together, so that requests in flight can use the others;
 * those that {@linkplain LeavesLast leave last} follow. The threads of a bundle's handlers end with its last handler.
 *
 * <p>The handlers of a bundle that starts beside its running version are held: {@link #replace} publishes them all in
 * place of the old ones, by one write.
 *
 * <p><b>Threads.</b> Any: the framework calls on the thread that registers or unregisters.
 */
public final class HandlerWhiteboard
        implements ServiceTrackerCustomizer<MessageHandler, HandlerWhiteboard.Published>, AutoCloseable {

    /** Service property that {@link HandlesMessage} sets. */
    static final String HANDLES = HandlesMessage.PREFIX_ + "handles.message";
    /** Service property that {@link NonBlocking} sets. */
    static final String NON_BLOCKING = NonBlocking.PREFIX_ + "non.blocking";

    /** Service property that {@link Delivery} sets. */
    static final String DELIVERY = Delivery.PREFIX_ + "delivery";

    private static final Logger LOG = LoggerFactory.getLogger(HandlerWhiteboard.class);
    private static final Duration THREADS_END_LIMIT = Duration.ofSeconds(1);
    private static final long LOOK_INTERVAL_NS = 1_000_000;
    private static final long NOT_DRAINING = 0;

    private final BundleContext context;
    private final HandlerRegistry registry;
    private final ServiceProblems problems;
    private final ExecutorSettings executorSettings;
    private final DrainLimits drains;
    private final ServiceTracker<MessageHandler, Published> tracker;

    private final Map<Long, OfBundle> byBundle = new HashMap<>(); // guarded by itself
    private final Set<Published> published = new LinkedHashSet<>(); // guarded by byBundle
    private final Map<Long, List<Published>> held = new HashMap<>(); // guarded by byBundle; by the id of the bundle

    /** A handler service that is used. Its mutable fields are guarded by {@link #byBundle}. */
    static final class Published {
        final ServiceReference<MessageHandler> reference;
        final Bundle bundle;
        final OfBundle owner;
        final HandlerSpec spec;
        HandlerRegistry.Registration registration; // null until it is in the registry
        long drainEndNs = NOT_DRAINING;
        boolean isGone;

        Published(ServiceReference<MessageHandler> reference, OfBundle owner, HandlerSpec spec) {
            this.reference = reference;
            this.bundle = reference.getBundle();
            this.owner = owner;
            this.spec = spec;
        }

        boolean isLast() {
            return spec.handler() instanceof LeavesLast;
        }
    }

    /** State shared by the handlers of one bundle. Its fields are guarded by {@link #byBundle}. */
    private static final class OfBundle {
        final HandlerExecutor executor;
        int handlers;
        long drainEndNs = NOT_DRAINING;

        OfBundle(HandlerExecutor executor) {
            this.executor = executor;
        }
    }

    public HandlerWhiteboard(
            BundleContext context,
            HandlerRegistry registry,
            ServiceProblems problems,
            ExecutorSettings executorSettings,
            DrainLimits drains) {
        this.context = context;
        this.registry = registry;
        this.problems = problems;
        this.executorSettings = executorSettings;
        this.drains = drains;
        this.tracker = ServiceObjects.tracker(context, MessageHandler.class, this, problems);
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
        boolean isNonBlocking;
        try {
            keys = ServiceKeys.of(reference, HANDLES, "a handler");
            keys.forEach(HandlerKey::requireReachable);
            delivery = delivery(reference);
            isNonBlocking = isNonBlocking(reference);
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
        ClassLoader loader = bundle.adapt(BundleWiring.class).getClassLoader();
        OfBundle owner = join(bundle, provider);
        HandlerSpec spec;
        try {
            spec = new HandlerSpec(
                    keys,
                    handler,
                    isNonBlocking,
                    provider,
                    reference.getProperty(Constants.SERVICE_RANKING) instanceof Integer ranking ? ranking : 0,
                    loader,
                    delivery,
                    owner.executor,
                    OperationDescription.declaredBy(handler.getClass()));
        } catch (IllegalArgumentException e) {
            problems.report(reference, e.getMessage());
            leave(owner, provider);
            context.ungetService(reference);
            return null;
        }
        Published added = new Published(reference, owner, spec);
        if (!publish(added)) {
            leave(owner, provider);
            context.ungetService(reference);
            return null;
        }
        LOG.info("{} handles {}", provider, ServiceKeys.texts(keys));
        return added;
    }

    /** Returns whether a bundle has a handler that leaves last. */
    boolean hasLast(Bundle bundle) {
        synchronized (byBundle) {
            return published.stream().anyMatch(each -> each.bundle == bundle && each.isLast());
        }
    }

    /** Holds the handlers of a bundle, which starts beside its running version, until {@link #replace}. */
    void hold(Bundle next) {
        synchronized (byBundle) {
            held.put(next.getBundleId(), new ArrayList<>());
        }
    }

    /** Ends {@link #hold} for a bundle that was removed. */
    void release(Bundle removed) {
        synchronized (byBundle) {
            held.remove(removed.getBundleId());
        }
    }

    /**
     * Gives the held handlers of a bundle a share of the requests of its running version. Later ones are still held.
     *
     * @throws KeyClaimedException if another bundle's handler has one of the keys; nothing changes then
     */
    void share(Bundle next, CanaryRule rule) throws KeyClaimedException {
        List<Published> waiting;
        synchronized (byBundle) {
            waiting = List.copyOf(held.get(next.getBundleId()));
        }
        List<HandlerRegistry.Registration> prepared = prepare(waiting);
        registry.share(prepared, rule);
        entered(waiting, prepared);
    }

    /**
     * Publishes the handlers of a bundle, held ones and those with a share, in place of those of its running version, by
     * one write. The old ones end the requests that they have begun; {@link #drain} waits for that.
     *
     * @throws KeyClaimedException if another bundle's handler has one of the keys; nothing changes then
     */
    void replace(Bundle old, Bundle next) throws KeyClaimedException {
        List<Published> waiting;
        List<HandlerRegistry.Registration> leaving;
        List<HandlerRegistry.Registration> all;
        synchronized (byBundle) {
            waiting = List.copyOf(held.get(next.getBundleId()));
            leaving = registrationsOf(old);
            all = new ArrayList<>(registrationsOf(next));
        }
        List<HandlerRegistry.Registration> prepared = prepare(waiting);
        all.addAll(prepared);
        registry.replace(leaving, all);
        entered(waiting, prepared);
        List<Published> later;
        synchronized (byBundle) {
            later = held.remove(next.getBundleId()); // from here on the bundle publishes further handlers by itself
        }
        later.forEach(this::publish);
    }

    /** Ends {@link #share}. Requests that have begun still complete. */
    void endShare(Bundle next) {
        List<HandlerRegistry.Registration> sharing;
        synchronized (byBundle) {
            sharing = registrationsOf(next);
        }
        registry.takeOut(sharing);
    }

    /** Returns the statuses of a bundle's handlers. */
    List<HandlerStatus> statuses(Bundle bundle) {
        List<HandlerRegistry.Registration> all;
        synchronized (byBundle) {
            all = registrationsOf(bundle);
        }
        return all.stream().flatMap(each -> each.statuses().stream()).toList();
    }

    private List<HandlerRegistry.Registration> registrationsOf(Bundle bundle) {
        return registrations(
                published.stream().filter(each -> each.bundle == bundle).toList());
    }

    private List<HandlerRegistry.Registration> prepare(List<Published> waiting) {
        return waiting.stream().map(each -> registry.prepare(each.spec)).toList();
    }

    /** Notes that held handlers are in the registry, and withdraws those that have gone meanwhile. */
    private void entered(List<Published> added, List<HandlerRegistry.Registration> registrations) {
        List<Published> gone;
        synchronized (byBundle) {
            for (int i = 0; i < added.size(); i++) {
                added.get(i).registration = registrations.get(i);
            }
            held.values().forEach(waiting -> waiting.removeAll(added));
            gone = added.stream().filter(each -> each.isGone).toList();
            published.addAll(added);
            gone.forEach(published::remove);
        }
        registry.withdraw(registrations(gone), Duration.ZERO);
    }

    /** Publishes or holds a handler, possibly again; false if another bundle's handler has one of its keys. */
    private boolean publish(Published handler) {
        try {
            synchronized (byBundle) {
                List<Published> waiting = held.get(handler.bundle.getBundleId());
                if (waiting != null) {
                    waiting.add(handler);
                    return true;
                }
            }
            HandlerRegistry.Registration registration = registry.addExclusively(handler.spec);
            boolean isGone;
            synchronized (byBundle) {
                handler.registration = registration;
                isGone = handler.isGone; // while it was held, and its bundle began to publish by itself
                if (!isGone) {
                    published.add(handler);
                }
            }
            if (isGone) {
                registration.withdraw(Duration.ZERO);
            }
            return true;
        } catch (KeyClaimedException e) {
            problems.report(handler.reference, e.getMessage());
            return false;
        }
    }

    @Override
    public void modifiedService(ServiceReference<MessageHandler> reference, Published published) {
        // Keys identify a handler: changed keys are a new registration.
    }

    @Override
    public void removedService(ServiceReference<MessageHandler> reference, Published handler) {
        withdraw(handler);
        leave(handler.owner, handler.spec.provider());
        context.ungetService(reference);
    }

    private void withdraw(Published handler) {
        boolean isStopping = handler.bundle.getState() == Bundle.STOPPING;
        List<Published> together = List.of(handler);
        boolean isFirst;
        long endNs;
        synchronized (byBundle) {
            handler.isGone = true;
            if (handler.registration == null) { // held
                held.values().forEach(waiting -> waiting.remove(handler));
                return;
            }
            OfBundle owner = handler.owner;
            isFirst = handler.drainEndNs == NOT_DRAINING && !(isStopping && owner.drainEndNs != NOT_DRAINING);
            if (isFirst && isStopping) { // the others are already drained
                owner.drainEndNs = drains.endNs(handler.bundle);
                together =
                        published.stream().filter(each -> each.owner == owner).toList();
            }
            endNs = handler.drainEndNs != NOT_DRAINING
                    ? handler.drainEndNs
                    : isStopping ? owner.drainEndNs : drains.endNs(null);
            published.remove(handler);
        }
        withdraw(together, endNs, isFirst);
    }

    private void withdraw(List<Published> together, long endNs, boolean isFirst) {
        Drained drained = registry.withdraw(registrations(together), drains.until(endNs));
        if (!drained.isComplete() && isFirst) {
            LOG.warn(
                    "{} leaves with {} requests running after {} ms",
                    together.get(0).spec.provider(),
                    drained.stillRunning(),
                    drains.limit().toMillis());
        }
    }

    private List<HandlerRegistry.Registration> registrations(List<Published> handlers) {
        synchronized (byBundle) {
            return handlers.stream().map(each -> each.registration).toList();
        }
    }

    /**
     * Withdraws and drains the handlers among the given services of a stopping bundle, within its drain limit. They
     * stay registered until their services disappear, or {@link #restore}.
     */
    void drain(Bundle stopping, Set<Long> services) {
        long endNs = drains.endNs(stopping);
        List<Published> first = new ArrayList<>();
        List<Published> last = new ArrayList<>();
        synchronized (byBundle) {
            for (Published each : published) {
                if (services.contains((Long) each.reference.getProperty(Constants.SERVICE_ID))) {
                    each.drainEndNs = endNs;
                    (each.isLast() ? last : first).add(each);
                }
            }
        }
        if (!first.isEmpty()) {
            withdraw(first, endNs, true);
        }
        if (!last.isEmpty()) {
            drainLast(last, endNs);
        }
    }

    /**
     * Withdraws handlers when no work is in progress, then rechecks: if new work began meanwhile, publishes them again.
     */
    private void drainLast(List<Published> last, long endNs) {
        List<HandlerRegistry.Registration> all = new ArrayList<>();
        boolean isOut = false;
        while (!drains.until(endNs).isZero() && !Thread.currentThread().isInterrupted()) {
            boolean isInProgress = last.stream().anyMatch(this::isInProgress);
            if (isInProgress && isOut) {
                last.forEach(this::publish);
                isOut = false;
            } else if (!isInProgress && !isOut) {
                all.addAll(registrations(last));
                registry.takeOut(registrations(last));
                isOut = true;
                continue;
            } else if (!isInProgress && all.stream().allMatch(HandlerWhiteboard::isIdle)) {
                break;
            }
            LockSupport.parkNanos(LOOK_INTERVAL_NS);
        }
        withdraw(last, endNs, true);
        registry.withdraw(all, Duration.ZERO); // the handlers before the last ones
    }

    private boolean isInProgress(Published handler) {
        try {
            return ((LeavesLast) handler.spec.handler()).isInProgress();
        } catch (RuntimeException | Error e) { // the boundary around a bundle's code
            registry.errors().charge(handler.spec.provider());
            ForeignErrors.warn(LOG, handler.spec.provider() + " threw in isInProgress of a handler", e);
            return false;
        }
    }

    private static boolean isIdle(HandlerRegistry.Registration registration) {
        return registration.entries().stream().allMatch(entry -> entry.inFlight() == 0);
    }

    /** Republishes the drained handlers whose services are still registered. */
    void restore() {
        List<Published> left = new ArrayList<>();
        synchronized (byBundle) {
            for (Published each : published) {
                if (each.drainEndNs != NOT_DRAINING && each.bundle.getState() == Bundle.ACTIVE) {
                    each.drainEndNs = NOT_DRAINING;
                    left.add(each);
                }
            }
        }
        left.forEach(this::publish);
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
