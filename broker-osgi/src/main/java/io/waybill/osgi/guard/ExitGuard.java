package io.waybill.osgi.guard;

import java.util.Set;
import org.osgi.framework.Bundle;
import org.osgi.framework.hooks.weaving.WeavingException;
import org.osgi.framework.hooks.weaving.WeavingHook;
import org.osgi.framework.hooks.weaving.WovenClass;

/**
 * Prevents bundles from exiting the process: exit calls are removed from their classes at load time
 * ({@link ExitCalls}). System bundles and the bundle with libtorch are not changed.
 *
 * <p><b>Threads.</b> Any; stateless.
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
