package io.waybill.journal;

import java.lang.reflect.Method;

/**
 * Checks the JVM flags that Chronicle needs, before Chronicle is loaded, so that a missing flag gives an error message
 * and not a stack trace.
 */
public final class ChronicleFlags {

    /** The flags, as the launcher sets them. */
    public static final String FLAGS = "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED"
            + " --add-exports=java.base/sun.nio.ch=ALL-UNNAMED"
            + " --add-opens=java.base/jdk.internal.misc=ALL-UNNAMED";

    private static final String ANALYTICS = "chronicle.analytics.disable";

    private ChronicleFlags() {}

    /**
     * Checks the flags, and switches Chronicle's usage reports off unless the user decided about them.
     *
     * @throws IllegalStateException with the flags that the JVM must be started with
     */
    public static void require() {
        Module base = Object.class.getModule();
        Module ours = ChronicleFlags.class.getModule();
        if (!base.isOpen(Method.class.getPackageName(), ours)
                || !base.isExported("sun.nio.ch", ours)
                || !base.isOpen("jdk.internal.misc", ours)) {
            throw new IllegalStateException("Waybill maps files and needs the JVM to be started with: " + FLAGS);
        }
        if (System.getProperty(ANALYTICS) == null) {
            System.setProperty(ANALYTICS, "true");
        }
    }
}
