package io.waybill.osgi.whiteboard;

import io.waybill.host.failure.ForeignErrors;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;
import org.osgi.util.tracker.ServiceTracker;
import org.osgi.util.tracker.ServiceTrackerCustomizer;

/**
 * Tracks services, and returns their objects.
 *
 * <p>The framework hides a service from the node if the node's class path has another class of the name of any class
 * that the service is registered as: a program that embeds a node and uses a plugin's jar as a library. The whiteboards
 * need one kind only. Therefore they track all services ({@code open(true)}), and check the class of the object here.
 * Stateless.
 */
final class ServiceObjects {

    private ServiceObjects() {}

    /**
     * Tracks all services of a kind, opened by {@code open(true)}. An exception while a service is registered, such as
     * an unreadable property, is reported as a problem of its bundle: the framework would only log it, and the bundle
     * would count as complete.
     */
    static <S, R> ServiceTracker<S, R> tracker(
            BundleContext context, Class<S> kind, ServiceTrackerCustomizer<S, R> taker, ServiceProblems problems) {
        return new ServiceTracker<>(context, kind, new ServiceTrackerCustomizer<>() {
            @Override
            public R addingService(ServiceReference<S> reference) {
                try {
                    return taker.addingService(reference);
                } catch (RuntimeException | Error e) {
                    problems.report(
                            reference, "its " + kind.getSimpleName() + " can't be used: " + ForeignErrors.describe(e));
                    return null;
                }
            }

            @Override
            public void modifiedService(ServiceReference<S> reference, R taken) {
                taker.modifiedService(reference, taken);
            }

            @Override
            public void removedService(ServiceReference<S> reference, R taken) {
                taker.removedService(reference, taken);
            }
        });
    }

    /**
     * Returns the object of a service, which the caller releases; null if there is none, after a report of the reason.
     *
     * @param what description of the service, for the report
     */
    static <T> T get(
            BundleContext context,
            ServiceReference<T> reference,
            Class<T> kind,
            String what,
            ServiceProblems problems) {
        Object found = context.getService(reference);
        if (kind.isInstance(found)) {
            return kind.cast(found);
        }
        if (found == null) {
            problems.report(reference, what + " could not be made");
            return null;
        }
        context.ungetService(reference);
        problems.report(
                reference,
                what + " is a " + found.getClass().getName() + ", which implements another " + kind.getName()
                        + " than the node's: let the bundle import " + kind.getPackageName() + ", not contain it");
        return null;
    }
}
