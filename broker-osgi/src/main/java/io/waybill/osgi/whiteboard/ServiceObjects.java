package io.waybill.osgi.whiteboard;

import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;

/**
 * Gets the objects of services that trackers of all services found.
 *
 * <p>The framework hides a service from the node if the node's class path has another class of the name of any class that the service is
 * registered as: a program that embeds a node and uses a plugin's jar as a library. The whiteboards need one kind only, whatever else the
 * service is. So they track all services ({@code open(true)}), and check the class of the object here. Stateless.
 */
final class ServiceObjects {

    private ServiceObjects() {}

    /**
     * Returns the object of a service, to be given back; null after a report of why there is none.
     *
     * @param what it is, for the report
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
