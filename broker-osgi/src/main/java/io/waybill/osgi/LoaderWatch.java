package io.waybill.osgi;

import io.waybill.api.admin.LoaderInfo;
import io.waybill.host.Clock;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Class loaders of replaced or removed bundles, until they are collected. A loader that stays reachable is pinned by a
 * thread, a thread-local, or a static field of another class.
 *
 * <p>A check does not collect garbage. An unpinned loader stays listed until the JVM collects, so a caller that needs
 * certainty requests a collection first.
 *
 * <p><b>Threads.</b> Any.
 */
public final class LoaderWatch {

    private final Clock clock;
    private final List<Retired> retired = new ArrayList<>(); // guarded by this

    private record Retired(
            String bundle, String version, long atNs, long atWallNs, WeakReference<ClassLoader> loader) {}

    LoaderWatch(Clock clock) {
        this.clock = clock;
    }

    /** Adds a loader that should become unreachable. */
    synchronized void retire(String bundle, String version, ClassLoader loader) {
        retired.removeIf(entry -> entry.loader.get() == null);
        retired.add(new Retired(bundle, version, clock.monotonicNs(), clock.wallNs(), new WeakReference<>(loader)));
    }

    /** Returns the loaders that were retired at least this long ago and are still reachable. */
    public synchronized List<LoaderInfo> leaked(Duration atLeast) {
        retired.removeIf(entry -> entry.loader.get() == null);
        long nowNs = clock.monotonicNs();
        List<LoaderInfo> leaks = new ArrayList<>();
        for (Retired entry : retired) {
            long ageNs = nowNs - entry.atNs;
            if (ageNs >= atLeast.toNanos()) {
                leaks.add(new LoaderInfo(
                        entry.bundle,
                        entry.version,
                        Instant.ofEpochSecond(0, entry.atWallNs),
                        TimeUnit.NANOSECONDS.toMillis(ageNs)));
            }
        }
        return leaks;
    }
}
