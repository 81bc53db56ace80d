package io.waybill.osgi.whiteboard;

import io.waybill.api.device.DeviceConverter;
import io.waybill.api.event.CallEvents;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.policy.AccessPolicy;
import io.waybill.api.policy.BundlePolicy;
import io.waybill.api.tool.ToolCommand;
import io.waybill.dispatch.CanaryRule;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.dispatch.KeyClaimedException;
import io.waybill.dispatch.RequiredPolicies;
import io.waybill.host.Clock;
import io.waybill.host.failure.CloseSteps;
import io.waybill.intercept.AwayPolicy;
import io.waybill.intercept.InterceptorRegistry;
import io.waybill.tool.ToolCommands;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceReference;

/**
 * The services of bundles that a node uses: handlers, converters, policies, interceptors, commands and listeners
 * for events.
 *
 * <p><b>Threads.</b> Any. <b>Ownership.</b> The framework's host closes it, after the framework has stopped.
 */
public final class ServiceWhiteboards implements AutoCloseable {

    /** Kinds of services that the worker uses of one version of a bundle at a time: all but handlers. */
    public static final List<Class<?>> OF_ONE_VERSION = List.of(
            AccessPolicy.class,
            BundlePolicy.class,
            CallEvents.class,
            CallInterceptor.class,
            DeviceConverter.class,
            HandlerInterceptor.class,
            ToolCommand.class);

    private final ServiceProblems problems = new ServiceProblems();
    private final DrainLimits drains;
    private final InterceptorRegistry interceptors;
    private final InterceptorWhiteboard<CallInterceptor> callInterceptors;
    private final InterceptorWhiteboard<HandlerInterceptor> handlerInterceptors;
    private final AccessPolicyWhiteboard policies;
    private final RequiredPolicies<RequiredBundlePolicy> bundlePolicies = new RequiredPolicies<>(policies -> {});
    private final BundlePolicyWhiteboard bundlePolicyServices;
    private final HandlerWhiteboard handlers;
    private final ConverterWhiteboard converters;
    private final ToolWhiteboard tools;
    private final CallEventsWhiteboard events;

    /**
     * Creates the whiteboards; {@link #open} starts them.
     *
     * @param executors executors for the threads of each bundle
     * @param drainLimit max time that a stopping bundle waits for its requests and calls
     */
    public ServiceWhiteboards(
            BundleContext context,
            HandlerRegistry registry,
            DeviceConverters deviceConverters,
            InterceptorRegistry interceptors,
            ToolCommands toolCommands,
            ExecutorSettings executors,
            Duration drainLimit,
            Clock clock) {
        drains = new DrainLimits(drainLimit, clock);
        this.interceptors = interceptors;
        callInterceptors = new InterceptorWhiteboard<>(
                context, CallInterceptor.class, interceptors.calls(), AwayPolicy.PARK, problems, drains);
        handlerInterceptors = new InterceptorWhiteboard<>(
                context, HandlerInterceptor.class, interceptors.handlers(), AwayPolicy.PASS, problems, drains);
        policies = new AccessPolicyWhiteboard(context, registry.policies(), problems);
        bundlePolicyServices = new BundlePolicyWhiteboard(context, bundlePolicies, problems);
        handlers = new HandlerWhiteboard(context, registry, problems, executors, drains);
        converters = new ConverterWhiteboard(context, deviceConverters, registry.errors(), problems, drainLimit);
        tools = new ToolWhiteboard(context, toolCommands, problems);
        events = new CallEventsWhiteboard(context, registry, problems);
    }

    /**
     * Starts tracking all kinds of services. Handlers are last, so that their first request is already checked and
     * intercepted.
     */
    public void open() {
        events.open();
        callInterceptors.open();
        handlerInterceptors.open();
        policies.open();
        bundlePolicyServices.open();
        handlers.open();
        converters.open();
        tools.open();
    }

    /**
     * Drains the handlers of a bundle that is about to stop, and those that depend on it, while its interceptors still
     * serve the calls of requests in flight.
     *
     * @param services ids of all services that will be unregistered
     */
    public void drain(Bundle bundle, Set<Long> services) {
        drains.begin(bundle);
        handlers.drain(bundle, services);
    }

    /** Reverts {@link #drain} after the bundle has stopped. Handlers that are still registered serve again. */
    public void stopped(Bundle bundle) {
        drains.end(bundle);
        handlers.restore();
    }

    /**
     * Returns whether another version of a running bundle may serve beside it: all its services are handlers, of which
     * none {@linkplain io.waybill.api.handler.LeavesLast leaves last}, or services that other bundles use.
     */
    public boolean allowOtherVersion(Bundle running) {
        ServiceReference<?>[] services = running.getRegisteredServices(); // null for none
        return !handlers.hasLast(running)
                && (services == null
                        || Stream.of(services)
                                .flatMap(each -> Stream.of((String[]) each.getProperty(Constants.OBJECTCLASS)))
                                .noneMatch(name -> OF_ONE_VERSION.stream()
                                        .anyMatch(kind -> kind.getName().equals(name))));
    }

    /** Holds the handlers of a bundle, which starts beside its running version, until {@link #replaceHandlers}. */
    public void holdHandlers(Bundle next) {
        handlers.hold(next);
    }

    /** Forgets a bundle that was removed. */
    public void forget(Bundle bundle) {
        problems.forget(bundle);
        handlers.release(bundle);
    }

    /**
     * Gives the held handlers of a bundle a share of the requests of its running version.
     *
     * @throws KeyClaimedException if another bundle's handler has one of the keys; nothing changes then
     */
    public void shareRequests(Bundle next, CanaryRule rule) throws KeyClaimedException {
        handlers.share(next, rule);
    }

    /** Ends {@link #shareRequests}. Requests that have begun still complete. */
    public void endShare(Bundle next) {
        handlers.endShare(next);
    }

    /** Returns the statuses of a bundle's handlers. */
    public List<HandlerStatus> handlersOf(Bundle bundle) {
        return handlers.statuses(bundle);
    }

    /**
     * Publishes the handlers of a bundle, held ones and those with a share, in place of those of its running version, by one write.
     *
     * @throws KeyClaimedException if another bundle's handler has one of the keys; nothing changes then
     */
    public void replaceHandlers(Bundle old, Bundle next) throws KeyClaimedException {
        handlers.replace(old, next);
    }

    /** Makes messages wait for the next version of a bundle's interceptors and converters while these are missing. */
    public void replacing(String bundle) {
        interceptors.calls().replacing(bundle);
        interceptors.handlers().replacing(bundle);
        converters.replacing(bundle);
    }

    /** Reverts {@link #replacing}. */
    public void replaced(String bundle) {
        converters.replaced(bundle);
        interceptors.handlers().replaced(bundle);
        interceptors.calls().replaced(bundle);
    }

    /** Returns the policies that decide which bundles are installed. */
    public RequiredPolicies<RequiredBundlePolicy> bundlePolicies() {
        return bundlePolicies;
    }

    /** Returns the reasons why services are not used. */
    public ServiceProblems problems() {
        return problems;
    }

    @Override
    public void close() {
        new CloseSteps()
                .attempt(tools::close)
                .attempt(converters::close)
                .attempt(policies::close)
                .attempt(bundlePolicyServices::close)
                .attempt(handlers::close)
                .attempt(handlerInterceptors::close)
                .attempt(callInterceptors::close)
                .attempt(events::close)
                .finishUnchecked();
    }
}
