package io.waybill.osgi;

import io.waybill.host.Clock;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Class loaders of bundles that were replaced or removed, until they are collected. One that is still reachable a while later is
 * pinned by something: a thread, a thread-local, a static field elsewhere.
 *
 * <p>Looking does not collect garbage. A loader that nothing pins stays listed until the JVM happens to collect, so a caller that wants
 * to be sure asks for a collection first.
 *
 * <p><b>Threads.</b> Any.
 */
public final class LoaderWatch {

    private final Clock clock;
    private final List<Retired> retired = new ArrayList<>(); // guarded by this

    private record Retired(
            String bundle, String version, long atNs, long atWallNs, WeakReference<ClassLoader> loader) {}

    /**
     * A loader that is still reachable.
     *
     * @param retiredWallNs when its bundle was replaced or removed
     */
    public record Leak(String bundle, String version, long retiredWallNs, Duration age) {}

    LoaderWatch(Clock clock) {
        this.clock = clock;
    }

    /** From now on this loader should become unreachable. */
    synchronized void retire(String bundle, String version, ClassLoader loader) {
        retired.removeIf(entry -> entry.loader.get() == null);
        retired.add(new Retired(bundle, version, clock.monotonicNs(), clock.wallNs(), new WeakReference<>(loader)));
    }

    /** The loaders that were retired so long ago and are still reachable. */
    public synchronized List<Leak> leaked(Duration atLeast) {
        retired.removeIf(entry -> entry.loader.get() == null);
        long nowNs = clock.monotonicNs();
        List<Leak> leaks = new ArrayList<>();
        for (Retired entry : retired) {
            long ageNs = nowNs - entry.atNs;
            if (ageNs >= atLeast.toNanos()) {
                leaks.add(new Leak(entry.bundle, entry.version, entry.atWallNs, Duration.ofNanos(ageNs)));
            }
        }
        return leaks;
    }
}
