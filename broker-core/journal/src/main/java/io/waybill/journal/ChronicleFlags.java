package io.waybill.journal;

import java.util.ArrayList;
import java.util.List;

/**
 * Checks the JVM flags that Chronicle needs, before Chronicle is loaded, so that a missing flag gives an error message
 * and not a stack trace.
 */
public final class ChronicleFlags {

    private static final String OF_ALL = "=ALL-UNNAMED";
    private static final Module BASE = Object.class.getModule();
    private static final Module OURS = ChronicleFlags.class.getModule();

    private static final String ANALYTICS = "chronicle.analytics.disable";
    /**
     * Switches off the monitor of disks, whose thread needs Chronicle's affinity library. A journal checks the disk by
     * itself.
     */
    private static final String DISK_MONITOR = "chronicle.disk.monitor.disable";

    /**
     * Switches off the announcer, which finds the versions of the library's parts, and logs them where no operator
     * reads them.
     */
    private static final String ANNOUNCER = "chronicle.announcer.disable";

    private ChronicleFlags() {}

    /**
     * Checks the flags, and switches off Chronicle's usage reports, its monitor of disks and its announcements unless
     * the user decided about them.
     *
     * @throws IllegalStateException with the flags that the JVM lacks
     */
    public static void require() {
        List<String> missing = new ArrayList<>();
        requireOpen(missing, "java.lang.reflect");
        requireExported(missing, "sun.nio.ch");
        requireOpen(missing, "jdk.internal.misc");
        requireExported(missing, "jdk.internal.ref");
        if (!missing.isEmpty()) {
            throw new IllegalStateException("Waybill can't map files in a JVM that was started without "
                    + String.join(" ", missing) + "; add this to its command line");
        }
        for (String disable : List.of(ANALYTICS, DISK_MONITOR, ANNOUNCER)) {
            if (System.getProperty(disable) == null) {
                System.setProperty(disable, "true");
            }
        }
    }

    private static void requireOpen(List<String> missing, String name) {
        if (!BASE.isOpen(name, OURS)) {
            missing.add("--add-opens=java.base/" + name + OF_ALL);
        }
    }

    private static void requireExported(List<String> missing, String name) {
        if (!BASE.isExported(name, OURS)) {
            missing.add("--add-exports=java.base/" + name + OF_ALL);
        }
    }
}
