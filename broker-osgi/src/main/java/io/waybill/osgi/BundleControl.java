package io.waybill.osgi;

import io.waybill.host.Clock;
import io.waybill.osgi.BundleStatus.Kind;
import io.waybill.osgi.BundleStatus.State;
import io.waybill.osgi.guard.StartLevels;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.jar.BundleRefusedException.Reason;
import io.waybill.osgi.jar.KeptJars;
import io.waybill.osgi.jar.StagedJar;
import io.waybill.osgi.jar.Staging;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Installs, updates, starts, stops and removes handler bundles, one operation at a time.
 *
 * <p>Before anything is replaced, a jar is copied to a directory that only this process may write, checked, and
 * resolved together with the running bundles. When the new bundle then throws on start, hangs, or has a component that
 * does not become active, the old one is restored. System bundles are listed and never changed. Bundles that are
 * installed here are installed again when the node restarts.
 *
 * <p><b>Threads.</b> Any; operations wait for each other, {@link #list()} does not.
 */
public final class BundleControl {

    private static final Logger LOG = LoggerFactory.getLogger(BundleControl.class);

    private final BundleContext context;
    private final Staging staging;
    private final KeptJars kept;
    private final BundleSteps steps;
    private final Clock clock;
    private final BundleSlots slots;
    private final ReentrantLock oneAtATime = new ReentrantLock(true);
    private volatile BundleOperation running; // set by the thread that holds the lock, read by any; null when none runs

    /** Policy for the jar that is kept for a bundle's next start, when another jar is installed. */
    enum Keeping {
        /** The other jar is kept. */
        REPLACE,
        /** The other jar has its own source: no jar is kept. */
        FORGET,
        /** The kept jar stays: this is the next start. */
        LEAVE
    }

    BundleControl(BundleContext context, Staging staging, KeptJars kept, BundleSteps steps, Clock clock) {
        this.context = context;
        this.staging = staging;
        this.kept = kept;
        this.steps = steps;
        this.clock = clock;
        this.slots = new BundleSlots(context);
    }

    /** Lists every bundle, the system's first, then by name. */
    public List<BundleStatus> list() {
        List<BundleStatus> statuses = new ArrayList<>();
        for (Bundle bundle : context.getBundles()) {
            if (StartLevels.isSystem(bundle)) {
                statuses.add(systemStatus(bundle));
            }
        }
        slots.all().forEach(slot -> statuses.add(slot.status(problemNow(slot))));
        return statuses;
    }

    /** Returns the operation that the others wait for; empty when none runs. */
    public Optional<BundleOperation> running() {
        return Optional.ofNullable(running);
    }

    /** Returns the current problem of a running bundle, or else the last one. */
    private String problemNow(BundleSlot slot) {
        String now = slot.isActive() ? steps.problems(slot.bundle) : "";
        return now.isEmpty() ? slot.problem() : now;
    }

    /** Installs and starts a bundle; updates it when one of its name is installed. */
    public BundleStatus install(Path jar) throws BundleRefusedException {
        return install(staging.stage(jar), StartLevels.FIRST_HANDLER_LEVEL, Keeping.REPLACE);
    }

    /** Replaces an installed bundle by the one in this jar with the same name. A stopped bundle stays stopped. */
    public BundleStatus update(Path jar) throws BundleRefusedException {
        return update(staging.stage(jar));
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
        return update(staged);
    }

    private BundleStatus update(StagedJar staged) throws BundleRefusedException {
        return exclusively("update to " + staged, () -> {
            BundleSlot slot;
            try {
                slot = slots.require(staged.symbolicName());
            } catch (BundleRefusedException e) {
                staging.discard(staged);
                throw e;
            }
            return replace(slot, staged, Keeping.REPLACE);
        });
    }

    /** Starts a stopped bundle. */
    public BundleStatus start(String symbolicName) throws BundleRefusedException {
        return exclusively("start " + symbolicName, () -> {
            BundleSlot slot = slots.require(symbolicName);
            if (!slot.isActive()) {
                try {
                    steps.start(slot.bundle);
                } catch (BundleRefusedException e) {
                    slot.failed(e.getMessage());
                    stopAfter(e, slot);
                    throw e;
                }
                slot.clearProblem();
                slot.enter(State.ACTIVE);
            }
            return slot.status();
        });
    }

    /** Stops a bundle, when its running requests ended or the drain limit passed. New requests for its handlers park. */
    public BundleStatus stop(String symbolicName) throws BundleRefusedException {
        return exclusively("stop " + symbolicName, () -> {
            BundleSlot slot = slots.require(symbolicName);
            stop(slot);
            return slot.status();
        });
    }

    /** Stops and removes a bundle; one that is stuck is forgotten, and removed when its code returns after all. */
    public BundleStatus uninstall(String symbolicName) throws BundleRefusedException {
        return exclusively("uninstall " + symbolicName, () -> {
            if (slots.find(symbolicName).isEmpty()) {
                Optional<BundleSlot> stuck = slots.takeStuck(symbolicName);
                if (stuck.isPresent()) {
                    return forget(stuck.get());
                }
            }
            BundleSlot slot = slots.require(symbolicName);
            stop(slot);
            steps.uninstall(slot.bundle);
            slots.remove(slot);
            kept.forget(symbolicName);
            staging.discard(slot.jar());
            LOG.info("Uninstalled {}", slot.jar());
            return slot.status();
        });
    }

    /** Its code still runs, and may never return: waiting for it would keep all other operations waiting. */
    private BundleStatus forget(BundleSlot stuck) {
        kept.forget(stuck.symbolicName());
        staging.discard(stuck.jar());
        steps.uninstallWhenReturned(stuck.bundle);
        stuck.failed("its code has not returned, and stays in memory until it does or the node ends");
        LOG.info("Uninstalled {}, which is stuck", stuck.jar());
        return stuck.status();
    }

    /** Returns the jar that runs under a name. */
    Optional<StagedJar> installed(String symbolicName) {
        return slots.find(symbolicName).map(BundleSlot::jar);
    }

    /** Installs a jar that the watched directory has, and will have at the next start. It becomes this object's. */
    BundleStatus installWatched(StagedJar jar) throws BundleRefusedException {
        return install(jar, StartLevels.FIRST_HANDLER_LEVEL, Keeping.FORGET);
    }

    /** Installs a jar while the node starts. It becomes this object's. */
    BundleStatus installAtStart(StagedJar jar, int startLevel) throws BundleRefusedException {
        return install(jar, startLevel, Keeping.LEAVE);
    }

    private BundleStatus install(StagedJar jar, int startLevel, Keeping keeping) throws BundleRefusedException {
        return exclusively("install " + jar, () -> {
            Optional<BundleSlot> slot = slots.find(jar.symbolicName());
            return slot.isPresent() ? replace(slot.get(), jar, keeping) : installFirst(jar, startLevel, keeping);
        });
    }

    private BundleStatus installFirst(StagedJar jar, int startLevel, Keeping keeping) throws BundleRefusedException {
        BundleSlot slot = null;
        try {
            slots.requireNoSystemBundle(jar.symbolicName());
            slot = new BundleSlot(steps.install(jar, startLevel), jar, clock);
            steps.resolve(slot.bundle, jar);
            steps.start(slot.bundle);
        } catch (BundleRefusedException e) {
            if (slot != null) {
                dropFailed(slot, e);
            }
            staging.discard(jar);
            throw e;
        }
        slots.put(slot);
        slot.enter(State.ACTIVE);
        keep(jar, keeping);
        LOG.info("Installed {} from {}", jar, jar.source());
        return slot.status();
    }

    private BundleStatus replace(BundleSlot slot, StagedJar candidate, Keeping keeping) throws BundleRefusedException {
        try {
            steps.tryResolve(candidate);
        } catch (BundleRefusedException e) {
            slot.failed(e.getMessage());
            staging.discard(candidate);
            throw e;
        }
        boolean wasActive = slot.isActive();
        StagedJar before = slot.jar();
        BundleSlot current = slot;
        steps.replacing(candidate.symbolicName());
        try {
            current = putIn(slot, candidate);
            if (wasActive) {
                steps.start(current.bundle);
            }
        } catch (BundleRefusedException e) {
            current = putBack(current, before, wasActive, e);
            staging.discard(candidate);
            throw notTaken(candidate, before, current, wasActive, e);
        } finally {
            steps.replaced(candidate.symbolicName());
        }
        staging.discard(before);
        current.clearProblem();
        current.enter(wasActive ? State.ACTIVE : State.STOPPED);
        keep(candidate, keeping);
        LOG.info("Updated {} to {} from {}", before, candidate, candidate.source());
        return current.status();
    }

    /** Installs a jar in place of the running one: in the same bundle, or in a new one if that does not stop. */
    private BundleSlot putIn(BundleSlot slot, StagedJar candidate) throws BundleRefusedException {
        try {
            stop(slot);
        } catch (BundleRefusedException e) {
            if (e.reason() != Reason.HUNG) {
                throw e;
            }
            LOG.warn("{} does not stop, and {} is put beside it", slot.jar(), candidate);
            BundleSlot beside =
                    new BundleSlot(steps.install(candidate, StartLevels.FIRST_HANDLER_LEVEL), candidate, clock);
            slots.put(beside);
            return beside;
        }
        slot.runs(candidate);
        steps.update(slot.bundle, candidate);
        return slot;
    }

    private static BundleRefusedException notTaken(
            StagedJar candidate, StagedJar before, BundleSlot current, boolean wasActive, BundleRefusedException why) {
        String now = current.isActive() || !wasActive
                ? before + " is in its place again"
                : before + " did not start again: " + current.problem();
        BundleRefusedException notified = new BundleRefusedException(
                why.reason(), candidate + " was not taken: " + why.getMessage() + "; " + now, why);
        current.failed(notified.getMessage());
        return notified;
    }

    /** Runs the jar again that ran before; in the same bundle, or in a new one when the bundle hangs. */
    private BundleSlot putBack(BundleSlot slot, StagedJar before, boolean start, BundleRefusedException why) {
        LOG.warn("{} is put back: {}", before, why.getMessage());
        BundleSlot target = slot;
        try {
            if (why.reason() == Reason.HUNG) {
                slots.giveUp(slot);
                target = new BundleSlot(steps.install(before, StartLevels.FIRST_HANDLER_LEVEL), before, clock);
                slots.put(target);
            } else {
                steps.stop(slot.bundle);
                slot.runs(before);
                steps.update(slot.bundle, before);
            }
            target.enter(State.STOPPED);
            if (start) {
                steps.start(target.bundle);
                target.enter(State.ACTIVE);
            }
        } catch (BundleRefusedException e) {
            target.failed(e.getMessage());
            if (e.reason() == Reason.HUNG) {
                slots.giveUp(target);
            }
        }
        return target;
    }

    /** Removes a bundle that did not come up at its first installation. */
    private void dropFailed(BundleSlot slot, BundleRefusedException why) {
        try {
            if (why.reason() == Reason.HUNG) {
                slots.giveUp(slot);
            } else {
                steps.stop(slot.bundle);
                steps.uninstall(slot.bundle);
            }
        } catch (BundleRefusedException e) {
            slots.giveUp(slot);
            why.addSuppressed(e);
        }
    }

    private void stopAfter(BundleRefusedException failedStart, BundleSlot slot) throws BundleRefusedException {
        if (failedStart.reason() == Reason.HUNG) {
            slots.giveUp(slot);
        } else {
            stop(slot);
        }
    }

    private void stop(BundleSlot slot) throws BundleRefusedException {
        try {
            steps.stop(slot.bundle);
            slot.enter(State.STOPPED);
        } catch (BundleRefusedException e) {
            slot.failed(e.getMessage());
            if (e.reason() == Reason.HUNG) {
                slots.giveUp(slot);
            }
            throw e;
        }
    }

    private void keep(StagedJar jar, Keeping keeping) {
        switch (keeping) {
            case REPLACE -> kept.keep(jar);
            case FORGET -> kept.forget(jar.symbolicName());
            case LEAVE -> LOG.debug("{} stays as it is kept", jar.symbolicName());
        }
    }

    private interface Operation {
        BundleStatus run() throws BundleRefusedException;
    }

    private BundleStatus exclusively(String what, Operation operation) throws BundleRefusedException {
        BundleOperation before = running;
        if (before != null) {
            LOG.info("Waiting to {}, until this has ended: {}", what, before.what());
        }
        oneAtATime.lock();
        try {
            running = new BundleOperation(what, clock.wallNs());
            return operation.run();
        } finally {
            running = null;
            oneAtATime.unlock();
        }
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
