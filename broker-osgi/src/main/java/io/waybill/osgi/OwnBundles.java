package io.waybill.osgi;

import io.waybill.osgi.guard.StartLevels;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.jar.BundleRefusedException.Reason;
import io.waybill.osgi.jar.FileMark;
import io.waybill.osgi.jar.ShippedBundles;
import io.waybill.osgi.jar.StagedJar;
import io.waybill.osgi.jar.Staging;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The bundles of the distribution, and those of earlier installations by command. They are installed at the node's
 * start, in any order, because a bundle that lacks another one waits for it. Omitted ones are retried when a dependency
 * or room on the disk may have become available.
 *
 * <p><b>Threads.</b> {@link #notStarted} and {@link #onChange}: any. Other methods: the thread that starts the node,
 * and then the one that scans directories.
 */
final class OwnBundles {

    private static final Logger LOG = LoggerFactory.getLogger(OwnBundles.class);

    private final Staging staging;
    private final BundleControl bundles;
    private final BundleSteps steps;
    private final Map<Path, LeftOut> leftOut = new ConcurrentSkipListMap<>();
    private volatile Runnable changed = () -> {};
    private long lastArrivals; // owned by the starting thread, then by the scanning thread

    /** A bundle that was not started. */
    private record LeftOut(BundleRefusedException why, Runnable again) {}

    OwnBundles(Staging staging, BundleControl bundles, BundleSteps steps) {
        this.staging = staging;
        this.bundles = bundles;
        this.steps = steps;
    }

    /** Sets the listener that is notified of changes of {@link #notStarted}, on the thread that starts bundles. */
    void onChange(Runnable listener) {
        changed = listener;
    }

    void installShipped(ShippedBundles.Jar jar) {
        try {
            StagedJar staged = staging.stage(jar.path());
            if (bundles.installed(staged.symbolicName()).isPresent()) { // by command, while the disk had no room for it
                staging.discard(staged);
            } else {
                bundles.installAtStart(staged, jar.startLevel());
            }
            taken(jar.path());
        } catch (BundleRefusedException e) {
            refused(jar.path(), e, () -> installShipped(jar));
        }
    }

    /**
     * Installs a kept jar. A jar that an operator installed by command has priority over the node's own, unless the
     * node's own is newer.
     */
    void installKept(Path jar) {
        try {
            StagedJar staged = staging.stage(jar);
            Optional<StagedJar> shipped = bundles.installed(staged.symbolicName());
            if (shipped.isPresent() && shipped.get().version().compareTo(staged.version()) > 0) {
                LOG.warn("{} is left out, because the node comes with {}", staged, shipped.get());
                staging.discard(staged);
            } else if (shipped.isPresent() && shipped.get().sha256().equals(staged.sha256())) { // installed meanwhile
                staging.discard(staged);
            } else {
                bundles.installAtStart(staged, StartLevels.FIRST_HANDLER_LEVEL);
            }
            taken(jar);
        } catch (BundleRefusedException e) {
            refused(jar, e, () -> installKept(jar));
        }
    }

    private void taken(Path jar) {
        if (leftOut.remove(jar) != null) {
            LOG.info("{} is no longer left out", jar);
            changed.run();
        }
    }

    private void refused(Path jar, BundleRefusedException why, Runnable again) {
        LeftOut before = leftOut.put(jar, new LeftOut(why, again));
        if (before == null) {
            steps.requirePoliciesIn(jar);
            changed.run();
        }
        if (before == null || before.why().reason() != why.reason()) {
            LOG.error("{} does not start: {}", jar, why.getMessage());
        }
    }

    /** Retries the omitted bundles that may need bundles started after them, until no more of them start. */
    void retry() {
        int before;
        do {
            before = leftOut.size();
            retry(true);
        } while (leftOut.size() < before);
        lastArrivals = bundles.arrivals();
    }

    /**
     * Retries the omitted bundles for which room on the disk, or a bundle or configuration, may have become available.
     */
    void look() {
        long arrivals = bundles.arrivals();
        retry(arrivals != lastArrivals);
        lastArrivals = arrivals;
    }

    private void retry(boolean hasMoreArrived) {
        new HashMap<>(leftOut).forEach((jar, each) -> {
            Reason why = each.why().reason();
            boolean mayPass = hasMoreArrived && (why == Reason.UNRESOLVED || why == Reason.START_FAILED);
            if (isGone(jar)) { // a kept jar whose bundle was uninstalled
                taken(jar);
            } else if (mayPass || why == Reason.NO_ROOM) {
                each.again().run();
            }
        });
    }

    private static boolean isGone(Path jar) {
        try {
            return FileMark.at(jar).isEmpty();
        } catch (IOException e) {
            return false;
        }
    }

    /** Returns the bundles that did not start, with the reasons. */
    Map<Path, String> notStarted() {
        Map<Path, String> reasons = new TreeMap<>();
        leftOut.forEach((jar, each) -> reasons.put(jar, each.why().getMessage()));
        return reasons;
    }
}
