package io.waybill;

import java.util.HashSet;
import java.util.Set;

/**
 * Who may block a thread, or spin, by itself: {@code host}, what is around the core, and the classes of the core that are named here, each with
 * its reason. The list may become shorter.
 */
final class Waiters {

    /** Programs, bundles, and what runs them: they start threads of their own, and no simulation runs them. */
    private static final Set<String> AROUND = Set.of(
            "io.waybill.autograd.",
            "io.waybill.cli.",
            "io.waybill.cuda.",
            "io.waybill.http.",
            "io.waybill.metrics.",
            "io.waybill.osgi.",
            "io.waybill.profiler.",
            "io.waybill.python.",
            "io.waybill.query.",
            "io.waybill.replay.",
            "io.waybill.salvage.",
            "io.waybill.script.");

    private static final Set<String> IN_THE_CORE = Set.of(
            // passes its wait to Threads.await
            "InstalledPolicy",
            // while another process has the table open; who reads a queue by itself has no host
            "TableLock",
            // a command and its reader, on threads of their own
            "ToolSession");

    private static final Set<String> KEEPERS = Set.of(
            // broker-api has no host; who runs one role inside of another enters and leaves its context
            "io.waybill.api.",
            // for interceptors, which no simulation has yet
            "InterceptorDepth",
            // of the JVM's thread: it keeps them for the others of its process, whichever role it plays
            "NeighbourRings");

    private Waiters() {}

    /** Who may have variables of the JVM's threads, which the roles that share a thread would share. */
    static Set<String> keepers() {
        Set<String> all = new HashSet<>(AROUND);
        all.addAll(KEEPERS);
        all.add("io.waybill.host.");
        return Set.copyOf(all);
    }

    static Set<String> all() {
        Set<String> all = new HashSet<>(AROUND);
        all.addAll(IN_THE_CORE);
        all.add("io.waybill.host.");
        return Set.copyOf(all);
    }
}
