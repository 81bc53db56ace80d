package io.waybill.osgi;

import io.waybill.host.Clock;
import io.waybill.osgi.BundleRefusedException.Reason;
import io.waybill.osgi.BundleStatus.Kind;
import io.waybill.osgi.BundleStatus.State;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Installs, updates, starts, stops and removes handler bundles, one operation at a time.
 *
 * <p>A jar is copied to where only this process may write, checked, and resolved beside what runs, before anything is replaced. When
 * the new bundle then throws on start, hangs, or has a component that doesn't come up, the old one is put back. Bundles of the
 * system are shown and never touched.
 *
 * <p><b>Threads.</b> Any; operations wait for each other, {@link #list()} does not.
 */
public final class BundleControl {

    private static final Logger LOG = LoggerFactory.getLogger(BundleControl.class);

    private final BundleContext context;
    private final Staging staging;
    private final BundleSteps steps;
    private final Clock clock;
    private final ReentrantLock oneAtATime = new ReentrantLock(true);
    private final Map<String, Slot> slots = new TreeMap<>(); // guarded by itself; changed by the one operation only
    private final List<Slot> stuck = new ArrayList<>(); // guarded by slots

    /** One handler bundle. Changed by the one operation that runs, read by {@link #list()}: hence volatile. */
    private static final class Slot {
        final Bundle bundle;
        volatile StagedJar jar;
        volatile State state = State.STOPPED;
        volatile long sinceWallNs;
        volatile String problem;

        Slot(Bundle bundle, StagedJar jar) {
            this.bundle = bundle;
            this.jar = jar;
        }
    }

    BundleControl(BundleContext context, Staging staging, BundleSteps steps, Clock clock) {
        this.context = context;
        this.staging = staging;
        this.steps = steps;
        this.clock = clock;
    }

    /** Every bundle, the system's first, then by name. */
    public List<BundleStatus> list() {
        List<BundleStatus> statuses = new ArrayList<>();
        for (Bundle bundle : context.getBundles()) {
            if (StartLevels.isSystem(bundle)) {
                statuses.add(systemStatus(bundle));
            }
        }
        synchronized (slots) {
            slots.values().forEach(slot -> statuses.add(status(slot)));
            stuck.forEach(slot -> statuses.add(status(slot)));
        }
        return statuses;
    }

    /** Installs and starts a bundle; updates it when one of its name is installed. */
    public BundleStatus install(Path jar) throws BundleRefusedException {
        return install(staging.stage(jar), OsgiSettings.FIRST_HANDLER_LEVEL);
    }

    /** Replaces an installed bundle by the one in this jar, whose name tells which. A stopped bundle stays stopped. */
    public BundleStatus update(Path jar) throws BundleRefusedException {
        StagedJar staged = staging.stage(jar);
        return exclusively(() -> replace(requireSlot(staged), staged));
    }

    /** Replaces the named bundle. */
    public BundleStatus update(String symbolicName, Path jar) throws BundleRefusedException {
        StagedJar staged = staging.stage(jar);
        if (!staged.symbolicName().equals(symbolicName)) {
            staging.discard(staged);
            throw new BundleRefusedException(
                    Reason.NO_BUNDLE,
                    jar + " is " + staged.symbolicName() + ", and " + symbolicName + " was to be updated");
        }
        return exclusively(() -> replace(requireSlot(staged), staged));
    }

    /** Starts a stopped bundle. */
    public BundleStatus start(String symbolicName) throws BundleRefusedException {
        return exclusively(() -> {
            Slot slot = requireSlot(symbolicName);
            if (slot.state != State.ACTIVE) {
                try {
                    steps.start(slot.bundle);
                } catch (BundleRefusedException e) {
                    slot.problem = e.getMessage();
                    stopOrGiveUp(slot, e);
                    throw e;
                }
                enter(slot, State.ACTIVE);
            }
            return status(slot);
        });
    }

    /** Stops a bundle, when its running requests ended or the drain limit passed. New requests for its handlers park. */
    public BundleStatus stop(String symbolicName) throws BundleRefusedException {
        return exclusively(() -> {
            Slot slot = requireSlot(symbolicName);
            stopOrGiveUp(slot, null);
            return status(slot);
        });
    }

    /** Stops and removes a bundle. */
    public BundleStatus uninstall(String symbolicName) throws BundleRefusedException {
        return exclusively(() -> {
            Slot slot = requireSlot(symbolicName);
            stopOrGiveUp(slot, null);
            steps.uninstall(slot.bundle);
            remove(slot);
            staging.discard(slot.jar);
            LOG.info("Uninstalled {}", slot.jar);
            return status(slot);
        });
    }

    /** What runs under a name. */
    Optional<StagedJar> installed(String symbolicName) {
        synchronized (slots) {
            return Optional.ofNullable(slots.get(symbolicName)).map(slot -> slot.jar);
        }
    }

    /** Installs or updates from a staged jar, which becomes this object's. */
    BundleStatus install(StagedJar jar, int startLevel) throws BundleRefusedException {
        return exclusively(() -> {
            Slot slot;
            synchronized (slots) {
                slot = slots.get(jar.symbolicName());
            }
            return slot == null ? installFirst(jar, startLevel) : replace(slot, jar);
        });
    }

    private BundleStatus installFirst(StagedJar jar, int startLevel) throws BundleRefusedException {
        Slot slot = null;
        try {
            requireNoSystemBundle(jar.symbolicName());
            slot = new Slot(steps.install(jar, startLevel), jar);
            steps.resolve(slot.bundle, jar);
            steps.start(slot.bundle);
        } catch (BundleRefusedException e) {
            if (slot != null) {
                dropFailed(slot, e);
            }
            staging.discard(jar);
            throw e;
        }
        put(slot);
        enter(slot, State.ACTIVE);
        LOG.info("Installed {} from {}", jar, jar.source());
        return status(slot);
    }

    private BundleStatus replace(Slot slot, StagedJar candidate) throws BundleRefusedException {
        try {
            steps.tryResolve(candidate);
        } catch (BundleRefusedException e) {
            slot.problem = e.getMessage();
            staging.discard(candidate);
            throw e;
        }
        boolean wasActive = slot.state == State.ACTIVE;
        StagedJar before = slot.jar;
        Slot current = slot;
        try {
            stopOrGiveUp(slot, null);
            slot.jar = candidate;
            steps.update(slot.bundle, candidate);
            if (wasActive) {
                steps.start(slot.bundle);
            }
        } catch (BundleRefusedException e) {
            current = putBack(slot, before, wasActive, e);
            staging.discard(candidate);
            BundleRefusedException told = new BundleRefusedException(
                    e.reason(),
                    candidate + " was not taken: " + e.getMessage() + " — "
                            + (current.state == State.ACTIVE || !wasActive
                                    ? before + " is in its place again"
                                    : before + " did not start again: " + current.problem),
                    e);
            current.problem = told.getMessage();
            throw told;
        }
        staging.discard(before);
        slot.problem = null;
        enter(slot, wasActive ? State.ACTIVE : State.STOPPED);
        LOG.info("Updated {} to {} from {}", before, candidate, candidate.source());
        return status(current);
    }

    /** Runs the jar again that ran before; in the same bundle, or in a new one when the bundle hangs. */
    private Slot putBack(Slot slot, StagedJar before, boolean start, BundleRefusedException why) {
        LOG.warn("{} is put back: {}", before, why.getMessage());
        Slot target = slot;
        try {
            if (why.reason() == Reason.HUNG) {
                giveUp(slot);
                target = new Slot(steps.install(before, OsgiSettings.FIRST_HANDLER_LEVEL), before);
                put(target);
            } else {
                steps.stop(slot.bundle);
                slot.jar = before;
                steps.update(slot.bundle, before);
            }
            enter(target, State.STOPPED);
            if (start) {
                steps.start(target.bundle);
                enter(target, State.ACTIVE);
            }
        } catch (BundleRefusedException e) {
            target.problem = e.getMessage();
            if (e.reason() == Reason.HUNG) {
                giveUp(target);
            }
        }
        return target;
    }

    /** Removes a bundle that did not come up at its first installation. */
    private void dropFailed(Slot slot, BundleRefusedException why) {
        try {
            if (why.reason() == Reason.HUNG) {
                giveUp(slot);
            } else {
                steps.stop(slot.bundle);
                steps.uninstall(slot.bundle);
            }
        } catch (BundleRefusedException e) {
            giveUp(slot);
            why.addSuppressed(e);
        }
    }

    /** @param why what failed before, when this is the clean-up after it */
    private void stopOrGiveUp(Slot slot, BundleRefusedException why) throws BundleRefusedException {
        if (why != null && why.reason() == Reason.HUNG) {
            giveUp(slot);
            return;
        }
        try {
            steps.stop(slot.bundle);
            enter(slot, State.STOPPED);
        } catch (BundleRefusedException e) {
            slot.problem = e.getMessage();
            if (e.reason() == Reason.HUNG) {
                giveUp(slot);
            }
            throw e;
        }
    }

    private void giveUp(Slot slot) {
        synchronized (slots) {
            slots.remove(slot.jar.symbolicName(), slot);
            if (!stuck.contains(slot)) {
                stuck.add(slot);
            }
        }
        enter(slot, State.STUCK);
        LOG.error("{} hangs and is given up; it stays in memory until the node ends", slot.jar);
    }

    private void put(Slot slot) {
        synchronized (slots) {
            slots.put(slot.jar.symbolicName(), slot);
        }
    }

    private void remove(Slot slot) {
        synchronized (slots) {
            slots.remove(slot.jar.symbolicName(), slot);
        }
        enter(slot, State.STOPPED);
    }

    private void enter(Slot slot, State state) {
        slot.state = state;
        slot.sinceWallNs = clock.wallNs();
    }

    private Slot requireSlot(StagedJar jar) throws BundleRefusedException {
        try {
            return requireSlot(jar.symbolicName());
        } catch (BundleRefusedException e) {
            staging.discard(jar);
            throw e;
        }
    }

    private Slot requireSlot(String symbolicName) throws BundleRefusedException {
        Slot slot;
        synchronized (slots) {
            slot = slots.get(symbolicName);
        }
        if (slot == null) {
            requireNoSystemBundle(symbolicName);
            throw new BundleRefusedException(
                    Reason.UNKNOWN_BUNDLE, "no bundle " + symbolicName + " is installed; there are " + slotNames());
        }
        return slot;
    }

    private String slotNames() {
        synchronized (slots) {
            return slots.isEmpty() ? "none" : String.join(", ", slots.keySet());
        }
    }

    private void requireNoSystemBundle(String symbolicName) throws BundleRefusedException {
        for (Bundle bundle : context.getBundles()) {
            if (symbolicName.equals(bundle.getSymbolicName()) && StartLevels.isSystem(bundle)) {
                throw new BundleRefusedException(
                        Reason.SYSTEM_BUNDLE, symbolicName + " is a part of the node and stays as it is");
            }
        }
    }

    private interface Operation {
        BundleStatus run() throws BundleRefusedException;
    }

    private BundleStatus exclusively(Operation operation) throws BundleRefusedException {
        oneAtATime.lock();
        try {
            return operation.run();
        } finally {
            oneAtATime.unlock();
        }
    }

    private static BundleStatus status(Slot slot) {
        StagedJar jar = slot.jar;
        return new BundleStatus(
                jar.symbolicName(),
                jar.version().toString(),
                Kind.HANDLER,
                slot.state,
                slot.sinceWallNs,
                jar.sha256(),
                jar.source().toString(),
                Optional.ofNullable(slot.problem));
    }

    private static BundleStatus systemStatus(Bundle bundle) {
        return new BundleStatus(
                bundle.getSymbolicName(),
                bundle.getVersion().toString(),
                Kind.SYSTEM,
                bundle.getState() == Bundle.ACTIVE ? State.ACTIVE : State.STOPPED,
                bundle.getLastModified() * 1_000_000,
                "",
                bundle.getLocation(),
                Optional.empty());
    }
}
