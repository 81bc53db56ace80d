package io.waybill.osgi.whiteboard;

import io.waybill.api.intercept.IgnoresMessage;
import io.waybill.api.intercept.InterceptsMessage;
import io.waybill.api.intercept.WhenAway;
import io.waybill.dispatch.Drained;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.Provider;
import io.waybill.intercept.AwayPolicy;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.intercept.Interceptors;
import java.util.List;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceReference;
import org.osgi.util.tracker.ServiceTracker;
import org.osgi.util.tracker.ServiceTrackerCustomizer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Registers the interceptor services of bundles with the worker. When one is unregistered, the stopping bundle waits
 * here until the calls that it began have completed, up to the drain limit.
 *
 * <p><b>Threads.</b> Any: the framework calls on the thread that registers or unregisters.
 *
 * @param <T> the kind of interceptor
 */
final class InterceptorWhiteboard<T>
        implements ServiceTrackerCustomizer<T, InterceptorWhiteboard.Published>, AutoCloseable {

    /** Service property that {@link InterceptsMessage} sets. */
    static final String INTERCEPTS = InterceptsMessage.PREFIX_ + "intercepts.message";

    /** Service property that {@link IgnoresMessage} sets. */
    static final String IGNORES = IgnoresMessage.PREFIX_ + "ignores.message";

    /** Service property that {@link WhenAway} sets. */
    static final String WHEN_AWAY = WhenAway.PREFIX_ + "when.away";

    private static final String COMPONENT_NAME = "component.name"; // set by Declarative Services

    private static final Logger LOG = LoggerFactory.getLogger(InterceptorWhiteboard.class);

    private final BundleContext context;
    private final Class<T> kind;
    private final Interceptors<T> interceptors;
    private final AwayPolicy byDefault;
    private final ServiceProblems problems;
    private final DrainLimits drains;
    private final ServiceTracker<T, Published> tracker;

    /** An interceptor while it is in the registry. */
    record Published(Interceptors.Registration registration, Provider provider) {}

    InterceptorWhiteboard(
            BundleContext context,
            Class<T> kind,
            Interceptors<T> interceptors,
            AwayPolicy byDefault,
            ServiceProblems problems,
            DrainLimits drains) {
        this.context = context;
        this.kind = kind;
        this.interceptors = interceptors;
        this.byDefault = byDefault;
        this.problems = problems;
        this.drains = drains;
        this.tracker = ServiceObjects.tracker(context, kind, this, problems);
    }

    public void open() {
        tracker.open(true);
    }

    @Override
    public void close() {
        tracker.close();
    }

    @Override
    public Published addingService(ServiceReference<T> reference) {
        List<HandlerKey> keys;
        List<HandlerKey> ignored;
        AwayPolicy whenAway;
        try {
            keys = ServiceKeys.of(reference, INTERCEPTS, "an interceptor");
            ignored = reference.getProperty(IGNORES) == null
                    ? List.of()
                    : ServiceKeys.of(reference, IGNORES, "an interceptor");
            whenAway = reference.getProperty(WHEN_AWAY) == null
                    ? byDefault
                    : AwayPolicy.parse(reference.getProperty(WHEN_AWAY).toString());
        } catch (IllegalArgumentException e) {
            problems.report(reference, e.getMessage());
            return null;
        }
        String what = "the interceptor of " + ServiceKeys.texts(keys);
        T interceptor = ServiceObjects.get(context, reference, kind, what, problems);
        if (interceptor == null) {
            return null;
        }
        Bundle bundle = reference.getBundle();
        Provider provider =
                new Provider(bundle.getSymbolicName(), bundle.getVersion().toString());
        int ranking = reference.getProperty(Constants.SERVICE_RANKING) instanceof Integer wanted ? wanted : 0;
        Interceptors.Registration registration = interceptors.add(new InterceptorSpec<>(
                keys, ignored, interceptor, provider, ranking, name(reference, interceptor), whenAway));
        LOG.info("{} intercepts {}", provider, ServiceKeys.texts(keys));
        return new Published(registration, provider);
    }

    /** Returns the name of an interceptor, which is the same in each version of its bundle. */
    private static String name(ServiceReference<?> reference, Object interceptor) {
        String bundle = reference.getBundle().getSymbolicName();
        Object component = reference.getProperty(COMPONENT_NAME);
        String own = component == null ? interceptor.getClass().getName() : component.toString();
        Object configured = reference.getProperty(Constants.SERVICE_PID); // distinguishes several of one component
        return bundle + " " + own + (configured instanceof String pid ? " " + pid : "");
    }

    @Override
    public void modifiedService(ServiceReference<T> reference, Published published) {
        // Keys and ranking identify an interceptor: changed ones are a new registration.
    }

    @Override
    public void removedService(ServiceReference<T> reference, Published published) {
        Drained drained = published.registration.withdraw(drains.until(drains.endNs(reference.getBundle())));
        if (!drained.isComplete()) {
            LOG.warn(
                    "{} leaves with {} intercepted calls in flight after {} ms",
                    published.provider,
                    drained.stillRunning(),
                    drains.limit().toMillis());
        }
        context.ungetService(reference);
    }
}
