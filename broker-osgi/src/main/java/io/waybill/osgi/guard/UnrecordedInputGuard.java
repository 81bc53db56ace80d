package io.waybill.osgi.guard;

import io.waybill.api.Message;
import io.waybill.osgi.watch.HandlerWatch;
import org.osgi.framework.hooks.weaving.WeavingException;
import org.osgi.framework.hooks.weaving.WeavingHook;
import org.osgi.framework.hooks.weaving.WovenClass;
import org.osgi.framework.namespace.PackageNamespace;
import org.osgi.framework.wiring.BundleWiring;

/**
 * Notifies the {@link HandlerWatch} when a bundle reads the time or draws random numbers by itself: its classes are
 * rewritten when they are loaded ({@link UnrecordedInputCalls}). Only bundles that use the broker's API are covered,
 * since only they can respond to requests: a library's own clock readings are not part of a response.
 *
 * <p><b>Threads.</b> Any; stateless.
 */
public final class UnrecordedInputGuard implements WeavingHook {

    private static final String API = Message.class.getPackageName();

    @Override
    public void weave(WovenClass wovenClass) {
        BundleWiring wiring = wovenClass.getBundleWiring();
        if (StartLevels.isSystem(wiring.getBundle()) || !usesApi(wiring)) {
            return;
        }
        try {
            UnrecordedInputCalls.note(wovenClass.getBytes()).ifPresent(rewritten -> {
                wovenClass.setBytes(rewritten);
                wovenClass.getDynamicImports().add(HandlerWatch.class.getPackageName());
            });
        } catch (IllegalArgumentException | IndexOutOfBoundsException | NegativeArraySizeException e) {
            throw new WeavingException("not a class file that can be checked: " + wovenClass.getClassName(), e);
        }
    }

    private static boolean usesApi(BundleWiring wiring) {
        return wiring.getRequiredWires(PackageNamespace.PACKAGE_NAMESPACE).stream()
                .map(wire -> wire.getCapability().getAttributes().get(PackageNamespace.PACKAGE_NAMESPACE))
                .anyMatch(name -> API.equals(name) || name.toString().startsWith(API + "."));
    }
}
