package io.waybill.osgi.guard;

import org.osgi.framework.Bundle;
import org.osgi.framework.startlevel.BundleStartLevel;

/** Start levels that separate the node's bundles from its operator's. */
public final class StartLevels {

    /** First start level of handler bundles; lower levels are the system's. */
    public static final int FIRST_HANDLER_LEVEL = 10;

    private StartLevels() {}

    /** Returns whether the bundle is the framework itself or one that the node needs. */
    public static boolean isSystem(Bundle bundle) {
        if (bundle.getBundleId() == 0) {
            return true;
        }
        BundleStartLevel level =
                bundle.adapt(BundleStartLevel.class); // null if it was uninstalled; system bundles never are
        return level != null && bundle.getState() != Bundle.UNINSTALLED && level.getStartLevel() < FIRST_HANDLER_LEVEL;
    }

    /** Sets a bundle's level if it differs; the framework applies it on its own thread. */
    public static void set(Bundle bundle, int level) {
        BundleStartLevel startLevel = bundle.adapt(BundleStartLevel.class);
        if (startLevel.getStartLevel() != level) {
            startLevel.setStartLevel(level);
        }
    }
}
