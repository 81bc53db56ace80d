package io.waybill.osgi;

import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;

/**
 * The bundles that wait for a package, a service or a configuration.
 *
 * <p><b>Threads.</b> {@link #note}: one operation at a time. Other methods: any.
 */
final class WaitingBundles {

    private final BundleSlots slots;
    private volatile Runnable changed = () -> {};
    private Set<Path> last = Set.of(); // owned by the operation's thread

    WaitingBundles(BundleSlots slots) {
        this.slots = slots;
    }

    boolean areThere() {
        return slots.all().stream().anyMatch(BundleSlot::isWaiting);
    }

    /** Returns the files of the waiting bundles, with the missing dependencies of each. */
    Map<Path, String> files() {
        Map<Path, String> files = new TreeMap<>();
        slots.all().stream()
                .filter(BundleSlot::isWaiting)
                .forEach(slot -> files.put(slot.jar().source(), Objects.toString(slot.problem(), "it is stopped")));
        return files;
    }

    /** Sets the listener that is notified of changes of {@link #files}, on the thread of the operation. */
    void onChange(Runnable listener) {
        changed = listener;
    }

    /** Notifies the listener if the files have changed since the last call. */
    void note() {
        Set<Path> now = files().keySet();
        if (!now.equals(last)) {
            last = Set.copyOf(now);
            changed.run();
        }
    }
}
