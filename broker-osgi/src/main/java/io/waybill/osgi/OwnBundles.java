package io.waybill.osgi;

import io.waybill.dispatch.AccessPolicies;
import io.waybill.osgi.guard.StartLevels;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.jar.BundleRefusedException.Reason;
import io.waybill.osgi.jar.PolicyDeclaration;
import io.waybill.osgi.jar.ShippedBundles;
import io.waybill.osgi.jar.StagedJar;
import io.waybill.osgi.jar.Staging;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The bundles that a node comes with, and those that were installed earlier by command: they are installed at its start. Those that the disk
 * has no room for are tried again.
 *
 * <p><b>Threads.</b> {@link #notStarted} and {@link #onChange} any; the others the thread that starts the node, and then the one that checks directories.
 */
final class OwnBundles {

    private static final Logger LOG = LoggerFactory.getLogger(OwnBundles.class);

    private final Staging staging;
    private final BundleControl bundles;
    private final AccessPolicies policies;
    private final Map<Path, LeftOut> leftOut = new ConcurrentSkipListMap<>();
    private volatile Runnable changed = () -> {};

    /** A bundle that was not started. */
    private record LeftOut(BundleRefusedException why, Runnable again) {}

    OwnBundles(Staging staging, BundleControl bundles, AccessPolicies policies) {
        this.staging = staging;
        this.bundles = bundles;
        this.policies = policies;
    }

    /** Sets what is notified, on the thread that starts bundles, after {@link #notStarted} has changed. */
    void onChange(Runnable listener) {
        changed = listener;
    }

    void installShipped(ShippedBundles.Jar jar) {
        try {
            StagedJar staged = staging.stage(jar.path());
            if (bundles.installed(staged.symbolicName()).isPresent()) { // by command, while there was no room for it
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
     * Installs a kept jar. A jar that an operator installed by command has priority over the node's own, unless that is
     * newer.
     */
    void installKept(Path jar) {
        try {
            StagedJar staged = staging.stage(jar);
            Optional<StagedJar> shipped = bundles.installed(staged.symbolicName());
            if (shipped.isPresent() && shipped.get().version().compareTo(staged.version()) > 0) {
                LOG.warn("{} is left out, because the node comes with {}", staged, shipped.get());
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
            LOG.info("{} is started now", jar);
            changed.run();
        }
    }

    private void refused(Path jar, BundleRefusedException why, Runnable again) {
        LeftOut before = leftOut.put(jar, new LeftOut(why, again));
        if (before == null) {
            PolicyDeclaration.in(jar).ifPresent(policies::require);
            changed.run();
        }
        if (before == null || before.why().reason() != why.reason()) {
            LOG.error("{} does not start: {}", jar, why.getMessage());
        }
    }

    /** Tries those again that the disk had no room for. */
    void look() {
        new HashMap<>(leftOut)
                .values().stream()
                        .filter(each -> each.why().reason() == Reason.NO_ROOM)
                        .forEach(each -> each.again().run());
    }

    /** The bundles that were not started, and why. */
    Map<Path, String> notStarted() {
        Map<Path, String> reasons = new TreeMap<>();
        leftOut.forEach((jar, each) -> reasons.put(jar, each.why().getMessage()));
        return reasons;
    }
}
