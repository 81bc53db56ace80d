package io.waybill.osgi.guard;

import java.util.Set;
import org.osgi.framework.Bundle;
import org.osgi.framework.hooks.weaving.WeavingException;
import org.osgi.framework.hooks.weaving.WeavingHook;
import org.osgi.framework.hooks.weaving.WovenClass;

/**
 * Keeps bundles from ending the process: their classes are loaded without the calls that would ({@link ExitCalls}). The bundles of the
 * system are left as they are, and so is the one that carries libtorch.
 *
 * <p><b>Threads.</b> Any; without state.
 */
public final class ExitGuard implements WeavingHook {

    private static final Set<String> TRUSTED = Set.of("io.waybill.torch-runtime");

    @Override
    public void weave(WovenClass wovenClass) {
        Bundle bundle = wovenClass.getBundleWiring().getBundle();
        if (StartLevels.isSystem(bundle) || TRUSTED.contains(bundle.getSymbolicName())) {
            return;
        }
        try {
            ExitCalls.refuse(wovenClass.getBytes()).ifPresent(wovenClass::setBytes);
        } catch (IllegalArgumentException | IndexOutOfBoundsException | NegativeArraySizeException e) {
            throw new WeavingException("not a class file that can be checked: " + wovenClass.getClassName(), e);
        }
    }
}
