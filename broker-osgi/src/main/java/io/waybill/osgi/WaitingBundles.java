package io.waybill.osgi;

import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;

/**
 * The bundles that wait for a package, a service or a configuration.
 *
 * <p><b>Threads.</b> {@link #note} by one operation at a time; the others by any.
 */
final class WaitingBundles {

    private final BundleSlots slots;
    private volatile Runnable changed = () -> {};
    private Set<Path> last = Set.of(); // of the thread of the operation

    WaitingBundles(BundleSlots slots) {
        this.slots = slots;
    }

    boolean areThere() {
        return slots.all().stream().anyMatch(BundleSlot::isWaiting);
    }

    /** Returns their files, and what each waits for. */
    Map<Path, String> files() {
        Map<Path, String> files = new TreeMap<>();
        slots.all().stream()
                .filter(BundleSlot::isWaiting)
                .forEach(slot -> files.put(slot.jar().source(), Objects.toString(slot.problem(), "it is stopped")));
        return files;
    }

    /** Sets what is notified, on the thread of the operation, after {@link #files} has changed. */
    void onChange(Runnable listener) {
        changed = listener;
    }

    /** Notifies if the files have changed since the last time. */
    void note() {
        Set<Path> now = files().keySet();
        if (!now.equals(last)) {
            last = Set.copyOf(now);
            changed.run();
        }
    }
}
